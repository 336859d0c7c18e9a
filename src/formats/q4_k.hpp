// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"
#include "formats/k_scales.hpp"
#include "formats/k_search.hpp"

namespace nibblas::formats {

/// q4_k: 256 weights in 144 bytes; sub-block s of 32 has w = d * sc[s] * q - dmin * m[s].
///
///   byte  0   2      4            16                             144
///         | d | dmin | scales[12] | qs[0] ...           qs[127] |
///          f16  f16    k_scales     qs[32g + l], l < 32: low nibble: element l of sub-block 2g,
///                                                        high nibble: element l of sub-block 2g + 1
struct Q4_K {
  struct Block {
    std::uint16_t d;
    std::uint16_t dmin;
    std::uint8_t scales[12];
    std::uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 144 && offsetof(Block, scales) == 4 && offsetof(Block, qs) == 16);
  static constexpr DType dtype = DType::q4_k;
  static constexpr float max_abs = kKQuantLimit;

  static void decode(const Block& b, float* out) noexcept {
    const float d = half_to_float(b.d);
    const float dmin = half_to_float(b.dmin);
    const KScales s = unpack_scales(b.scales);
    for (std::size_t sub = 0; sub < 8; ++sub) {
      const float scale = d * static_cast<float>(s.sc[sub]);
      const float min = dmin * static_cast<float>(s.m[sub]);
      const std::uint8_t* qs = b.qs + sub / 2 * 32;
      const unsigned shift = sub % 2 * 4;
      for (std::size_t l = 0; l < 32; ++l) {
        out[32 * sub + l] = scale * static_cast<float>((qs[l] >> shift) & 15) - min;
      }
    }
  }

  static Fault check(const Block& b) noexcept {
    if (const Fault fault = check_scale("d", b.d)) return fault;
    return check_scale("dmin", b.dmin);
  }

  static void encode(const float* x, Block& b) noexcept {
    AffineBlock found;
    search_affine(x, 15, found);
    b.d = found.d;
    b.dmin = found.dmin;
    pack_scales(found.scales, b.scales);
    for (std::size_t i = 0; i < 128; ++i) {
      const std::uint8_t* pair = found.codes + i / 32 * 64 + i % 32;
      b.qs[i] = static_cast<std::uint8_t>(pair[0] | (pair[32] << 4));
    }
  }
};

}  // namespace nibblas::formats
