// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/scalar/unpacked.hpp"

// One codec a format: the panel's bit layout, read the slow and obvious way. `sub` is the number of elements per scale.

namespace nibblas::scalar {
namespace {

struct Q8_0 {
  static constexpr DType dtype = DType::q8_0;
  static constexpr std::size_t sub = 32;
  static constexpr bool has_min = false;

  static void unpack(const std::byte* b, UnpackedBlock& u) noexcept {
    for (std::size_t k = 0; k < 32; ++k) {
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        u.q[k][r] = static_cast<std::int8_t>(byte_at(b, (k / 4 * kPanelRows + r) * 4 + k % 4));
      }
    }
    for (std::size_t r = 0; r < kPanelRows; ++r) u.scale[0][r] = load_f16(b + 512 + 2 * r);
  }
};

struct Q4_0 {
  static constexpr DType dtype = DType::q4_0;
  static constexpr std::size_t sub = 32;
  static constexpr bool has_min = false;

  static void unpack(const std::byte* b, UnpackedBlock& u) noexcept {
    for (std::size_t k = 0; k < 16; ++k) {
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        const unsigned byte = byte_at(b, (k / 4 * kPanelRows + r) * 4 + k % 4);
        u.q[k][r] = static_cast<std::int8_t>(static_cast<int>(byte & 15u) - 8);
        u.q[k + 16][r] = static_cast<std::int8_t>(static_cast<int>(byte >> 4) - 8);
      }
    }
    for (std::size_t r = 0; r < kPanelRows; ++r) u.scale[0][r] = load_f16(b + 256 + 2 * r);
  }
};

struct Q4_K {
  static constexpr DType dtype = DType::q4_k;
  static constexpr std::size_t sub = 32;
  static constexpr bool has_min = true;

  static void unpack(const std::byte* b, UnpackedBlock& u) noexcept {
    for (std::size_t l = 0; l < 128; ++l) {
      const std::size_t k = l / 32 * 64 + l % 32;  // low nibbles: sub-block 2j; high: 2j + 1
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        const unsigned byte = byte_at(b, (l / 4 * kPanelRows + r) * 4 + l % 4);
        u.q[k][r] = static_cast<std::int8_t>(byte & 15u);
        u.q[k + 32][r] = static_cast<std::int8_t>(byte >> 4);
      }
    }
    unpack_k_scales(b + 2048, b + 2048 + 192, b + 2048 + 224, u);
  }
};

struct Q5_K {
  static constexpr DType dtype = DType::q5_k;
  static constexpr std::size_t sub = 32;
  static constexpr bool has_min = true;

  static void unpack(const std::byte* b, UnpackedBlock& u) noexcept {
    const std::byte* qh = b + 2048;
    for (std::size_t l = 0; l < 128; ++l) {
      const std::size_t s = l / 32 * 2;
      const std::size_t k = s * 32 + l % 32;
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        const unsigned byte = byte_at(b, (l / 4 * kPanelRows + r) * 4 + l % 4);
        const unsigned high = byte_at(qh, (l % 32 / 4 * kPanelRows + r) * 4 + l % 4);
        u.q[k][r] = static_cast<std::int8_t>((byte & 15u) | ((high >> s & 1u) << 4));
        u.q[k + 32][r] = static_cast<std::int8_t>((byte >> 4) | ((high >> (s + 1) & 1u) << 4));
      }
    }
    unpack_k_scales(b + 2560, b + 2560 + 192, b + 2560 + 224, u);
  }
};

struct Q6_K {
  static constexpr DType dtype = DType::q6_k;
  static constexpr std::size_t sub = 16;
  static constexpr bool has_min = false;

  static void unpack(const std::byte* b, UnpackedBlock& u) noexcept {
    const std::byte* qh = b + 2048;
    for (std::size_t k = 0; k < 256; ++k) {
      const std::size_t half = k / 128;
      const std::size_t l = k % 32;
      const std::size_t part = k % 128 / 32;                  // 0..3: q1..q4 of the format
      const std::size_t low = half * 64 + part % 2 * 32 + l;  // byte of ql in the file's block
      const std::size_t high = half * 32 + l;                 // byte of qh
      const unsigned low_shift = part < 2 ? 0 : 4;
      const unsigned high_shift = static_cast<unsigned>(2 * part);
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        const unsigned lo = byte_at(b, (low / 4 * kPanelRows + r) * 4 + low % 4) >> low_shift & 15u;
        const unsigned hi = byte_at(qh, (high / 4 * kPanelRows + r) * 4 + high % 4) >> high_shift & 3u;
        u.q[k][r] = static_cast<std::int8_t>(static_cast<int>(lo | hi << 4) - 32);
      }
    }
    const std::byte* scales = b + 3072;
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const float d = load_f16(b + 3072 + 256 + 2 * r);
      for (std::size_t s = 0; s < 16; ++s) {
        u.scale[s][r] = d * static_cast<float>(static_cast<std::int8_t>(byte_at(scales, s * kPanelRows + r)));
      }
    }
  }
};

/// tq1_0 and tq2_0 share the 2-bit panel; one scale per 256, repeated for each 32.
template <DType T>
struct Tq {
  static constexpr DType dtype = T;
  static constexpr std::size_t sub = 32;
  static constexpr bool has_min = false;

  static void unpack(const std::byte* b, UnpackedBlock& u) noexcept {
    unpack_ternary(b, 16, u.q);
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      for (std::size_t s = 0; s < 8; ++s) u.scale[s][r] = load_f16(b + 1024 + 2 * r);
    }
  }
};

}  // namespace
}  // namespace nibblas::scalar
