// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace nibblas::neon {
namespace {

struct Transposer {
  [[gnu::always_inline]] static void words4(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    for (std::size_t r = 0; r < 16; r += 4) words4_of_4(src + r * stride, stride, out + 4 * r);
  }
  [[gnu::always_inline]] static void halves(const std::byte* words, std::byte* out) noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      const uint16x8x2_t v = vld2q_u16(reinterpret_cast<const std::uint16_t*>(words + 32 * i));
      vst1q_u16(reinterpret_cast<std::uint16_t*>(out + 16 * i), v.val[0]);
      vst1q_u16(reinterpret_cast<std::uint16_t*>(out + 32 + 16 * i), v.val[1]);
    }
  }
  [[gnu::always_inline]] static void bytes(const std::byte* words, std::byte* out) noexcept {
    const uint8x16x4_t v = vld4q_u8(reinterpret_cast<const std::uint8_t*>(words));
    for (int i = 0; i < 4; ++i) vst1q_u8(reinterpret_cast<std::uint8_t*>(out + 16 * i), v.val[i]);
  }

 private:
  [[gnu::always_inline]] static void words4_of_4(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    const uint32x4_t a = row(src);
    const uint32x4_t b = row(src + stride);
    const uint32x4_t c = row(src + 2 * stride);
    const uint32x4_t d = row(src + 3 * stride);
    const uint32x4_t ac_low = vzip1q_u32(a, c);
    const uint32x4_t ac_high = vzip2q_u32(a, c);
    const uint32x4_t bd_low = vzip1q_u32(b, d);
    const uint32x4_t bd_high = vzip2q_u32(b, d);
    put(out, vzip1q_u32(ac_low, bd_low));
    put(out + 64, vzip2q_u32(ac_low, bd_low));
    put(out + 128, vzip1q_u32(ac_high, bd_high));
    put(out + 192, vzip2q_u32(ac_high, bd_high));
  }
  [[gnu::always_inline]] static uint32x4_t row(const std::byte* p) noexcept {
    return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)));
  }
  [[gnu::always_inline]] static void put(std::byte* p, uint32x4_t v) noexcept {
    vst1q_u8(reinterpret_cast<std::uint8_t*>(p), vreinterpretq_u8_u32(v));
  }
};

}  // namespace
}  // namespace nibblas::neon
