// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <xsimd/xsimd.hpp>

// xsimd's neon under a name of this translation unit's own; target_avx2.hpp says why. Not its neon64, whose broadcast
// (8.1) gives a batch of neon64 alone; that adds what no kernel needs, doubles and reductions.

namespace nibblas::xsimd_kernels {
namespace {

struct Neon64 : ::xsimd::neon {
  static constexpr char provider[] = "xsimd_neon64";
  static constexpr std::size_t registers = 16;
  using Narrow = Neon64;

  template <class To, class From>
  [[gnu::always_inline]] static To cast(const From& a) noexcept {
    return To(__builtin_bit_cast(typename To::register_type, static_cast<typename From::register_type>(a)));
  }
  /// n < 0: right.
  [[gnu::always_inline]] static int32x4_t shift_left(int32x4_t a, int n) noexcept {
    return vshlq_s32(a, vdupq_n_s32(n));
  }
  [[gnu::always_inline]] static int16x8_t shift_left(int16x8_t a, int n) noexcept {
    return vshlq_s16(a, vdupq_n_s16(static_cast<std::int16_t>(n)));
  }
  [[gnu::always_inline]] static uint16x8_t shift_left(uint16x8_t a, int n) noexcept {
    return vshlq_u16(a, vdupq_n_s16(static_cast<std::int16_t>(n)));
  }
  template <class F>
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept {
    return ::xsimd::fma(a, b, c);
  }
  /// xsimd 8.1 has no fused one.
  template <class F>
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept {
    return vfmsq_f32(c, a, b);
  }
  [[gnu::always_inline]] static int32x4_t widen(const std::uint8_t* p) noexcept {
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(load4(p))))));
  }
  [[gnu::always_inline]] static int32x4_t widen(const std::int8_t* p) noexcept {
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(load4(p)))));
  }
  [[gnu::always_inline]] static int32x4_t widen(const std::uint16_t* p) noexcept {
    return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
  }
  [[gnu::always_inline]] static float32x4_t load_f16(const std::byte* p) noexcept {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(p))));
  }

 private:
  [[gnu::always_inline]] static uint32x2_t load4(const void* p) noexcept {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return vdup_n_u32(v);
  }
};

}  // namespace
}  // namespace nibblas::xsimd_kernels

namespace xsimd::types {
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(nibblas::xsimd_kernels::Neon64, neon);
template <class T>
struct get_bool_simd_register<T, nibblas::xsimd_kernels::Neon64>
    : detail::neon_bool_simd_register<T, nibblas::xsimd_kernels::Neon64> {};
}  // namespace xsimd::types
