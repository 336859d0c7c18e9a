// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "formats/half.hpp"
#include "nibblas/panel.hpp"

// Panel blocks as plain numbers: what the scalar kernels compute on. One header a format fills these in.

namespace nibblas {
namespace {

/// A block of 16 rows, decoded. w[k][r] = scale[k / sub][r] * q[k][r] - min[k / sub][r].
struct UnpackedBlock {
  std::int8_t q[256][kPanelRows];
  float scale[16][kPanelRows];
  float min[8][kPanelRows];  ///< only for codecs with has_min
};

inline float load_f16(const std::byte* p) noexcept {
  std::uint16_t h;
  std::memcpy(&h, p, sizeof h);
  return formats::half_to_float(h);
}

inline unsigned byte_at(const std::byte* p, std::size_t i) noexcept { return std::to_integer<unsigned>(p[i]); }

/// The six-bit scales of q4_k and q5_k, from 12 x 16 bytes.
inline void unpack_k_scales(const std::byte* scales, const std::byte* d, const std::byte* dmin,
                            UnpackedBlock& u) noexcept {
  for (std::size_t r = 0; r < kPanelRows; ++r) {
    const float df = load_f16(d + 2 * r);
    const float mf = load_f16(dmin + 2 * r);
    const auto at = [&](std::size_t i) { return byte_at(scales, i * kPanelRows + r); };
    for (std::size_t s = 0; s < 8; ++s) {
      const unsigned sc = s < 4 ? at(s) & 63u : (at(s + 4) & 15u) | ((at(s - 4) >> 6) << 4);
      const unsigned m = s < 4 ? at(s + 4) & 63u : (at(s + 4) >> 4) | ((at(s) >> 6) << 4);
      u.scale[s][r] = df * static_cast<float>(sc);
      u.min[s][r] = mf * static_cast<float>(m);
    }
  }
}

/// 2-bit codes of `words` panel words, as -1, 0, 1 (and 2 for the corrupt code 3).
inline void unpack_ternary(const std::byte* codes, std::size_t words, std::int8_t (*q)[kPanelRows]) noexcept {
  for (std::size_t k = 0; k < 16 * words; ++k) {
    const std::size_t i = k % 4;
    const unsigned shift = static_cast<unsigned>(k / 4 % 4 * 2);
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      q[k][r] = static_cast<std::int8_t>(
          static_cast<int>((byte_at(codes, (k / 16 * kPanelRows + r) * 4 + i) >> shift) & 3u) - 1);
    }
  }
}

}  // namespace
}  // namespace nibblas
