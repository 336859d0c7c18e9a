// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"
#include "formats/k_scales.hpp"
#include "formats/k_search.hpp"

namespace nibblas::formats {

/// q5_k: 256 weights in 176 bytes; sub-block s of 32 has w = d * sc[s] * q - dmin * m[s], q of five bits.
///
///   byte  0   2      4            16       48                   176
///         | d | dmin | scales[12] | qh[32] | qs[0] ... qs[127] |
///          f16  f16    k_scales     bit s of  as q4_k: the low four bits of q
///                                   qh[l]: bit 4 of element l of sub-block s
struct Q5_K {
  struct Block {
    std::uint16_t d;
    std::uint16_t dmin;
    std::uint8_t scales[12];
    std::uint8_t qh[32];
    std::uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 176 && offsetof(Block, scales) == 4 && offsetof(Block, qh) == 16);
  static_assert(offsetof(Block, qs) == 48);
  static constexpr DType dtype = DType::q5_k;
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
        const int q = ((qs[l] >> shift) & 15) | (((b.qh[l] >> sub) & 1) << 4);
        out[32 * sub + l] = scale * static_cast<float>(q) - min;
      }
    }
  }

  static Fault check(const Block& b) noexcept {
    if (const Fault fault = check_scale("d", b.d)) return fault;
    return check_scale("dmin", b.dmin);
  }

  static void encode(const float* x, Block& b) noexcept {
    AffineBlock found;
    search_affine(x, 31, found);
    b.d = found.d;
    b.dmin = found.dmin;
    pack_scales(found.scales, b.scales);
    for (std::size_t l = 0; l < 32; ++l) {
      unsigned high = 0;
      for (std::size_t sub = 0; sub < 8; ++sub) high |= static_cast<unsigned>(found.codes[32 * sub + l] >> 4) << sub;
      b.qh[l] = static_cast<std::uint8_t>(high);
    }
    for (std::size_t i = 0; i < 128; ++i) {
      const std::uint8_t* pair = found.codes + i / 32 * 64 + i % 32;
      b.qs[i] = static_cast<std::uint8_t>((pair[0] & 15) | ((pair[32] & 15) << 4));
    }
  }
};

}  // namespace nibblas::formats
