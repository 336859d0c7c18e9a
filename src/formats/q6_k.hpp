// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"
#include "formats/k_search.hpp"

namespace nibblas::formats {

/// q6_k: 256 weights in 210 bytes; sub-block s of 16 has w = d * scales[s] * (q - 32), q of six bits.
///
///   byte  0         128      192           208 210
///         | ql[128] | qh[64] | scales[16] | d |
///                              i8          f16
///
/// Element 128h + 32p + l (h < 2, p < 4, l < 32): its low four bits are in ql[64h + 32(p % 2) + l], the low nibble for
/// p < 2 and the high one for p >= 2; its upper two are bits 2p of qh[32h + l].
struct Q6_K {
  struct Block {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 210 && offsetof(Block, qh) == 128 && offsetof(Block, scales) == 192);
  static_assert(offsetof(Block, d) == 208);
  static constexpr DType dtype = DType::q6_k;
  static constexpr float max_abs = kKQuantLimit;

  static void decode(const Block& b, float* out) noexcept {
    const float d = half_to_float(b.d);
    for (std::size_t i = 0; i < 256; ++i) {
      const std::size_t h = i / 128;
      const std::size_t p = i / 32 % 4;
      const std::size_t l = i % 32;
      const int low = (b.ql[64 * h + 32 * (p % 2) + l] >> (p / 2 * 4)) & 15;
      const int high = (b.qh[32 * h + l] >> (2 * p)) & 3;
      const float scale = d * static_cast<float>(b.scales[i / 16]);
      out[i] = scale * static_cast<float>((low | (high << 4)) - 32);
    }
  }

  static Fault check(const Block& b) noexcept { return check_scale("d", b.d); }

  static void encode(const float* x, Block& b) noexcept {
    SymmetricBlock found;
    search_symmetric(x, found);
    b = {};
    b.d = found.d;
    std::memcpy(b.scales, found.sc, sizeof b.scales);
    if (found.d == 0) return;  // ggml's zero block: not a bit set
    for (std::size_t i = 0; i < 256; ++i) {
      const auto q = static_cast<unsigned>(found.codes[i] + 32);
      const std::size_t h = i / 128;
      const std::size_t p = i / 32 % 4;
      const std::size_t l = i % 32;
      std::uint8_t& low = b.ql[64 * h + 32 * (p % 2) + l];
      std::uint8_t& high = b.qh[32 * h + l];
      low = static_cast<std::uint8_t>(low | ((q & 15u) << (p / 2 * 4)));
      high = static_cast<std::uint8_t>(high | ((q >> 4) << (2 * p)));
    }
  }
};

}  // namespace nibblas::formats
