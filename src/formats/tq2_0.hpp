// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"
#include "formats/ternary.hpp"

namespace nibblas::formats {

/// tq2_0: 256 weights in 66 bytes, w = d * (code - 1), codes 0..2; a 3 is corrupt and decodes as +2.
///
///   byte  0                               64  66
///         | qs[0] ...              qs[63] | d |
///           bits 2l of qs[32h + m]:        f16
///           element 128h + 32l + m
struct TQ2_0 {
  struct Block {
    std::uint8_t qs[64];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 66 && offsetof(Block, d) == 64);
  static constexpr DType dtype = DType::tq2_0;
  static constexpr float max_abs = kHalfLimit;

  static unsigned code(const Block& b, std::size_t element) noexcept {
    const std::size_t half = element / 128;
    const std::size_t pair = element % 128 / 32;
    return (b.qs[32 * half + element % 32] >> (2 * pair)) & 3u;
  }

  static void decode(const Block& b, float* out) noexcept {
    const float d = half_to_float(b.d);
    for (std::size_t i = 0; i < 256; ++i) out[i] = static_cast<float>(static_cast<int>(code(b, i)) - 1) * d;
  }

  static Fault check(const Block& b) noexcept {
    if (const Fault fault = check_scale("d", b.d)) return fault;
    for (std::size_t i = 0; i < 256; ++i) {
      if (code(b, i) == 3) return {Fault::Kind::code, "", 0, i};
    }
    return {};
  }

  static void encode(const float* x, Block& b) noexcept {
    const TernaryScale scale = ternary_scale(x);
    b.d = scale.d;
    for (std::size_t byte = 0; byte < 64; ++byte) {
      const std::size_t first = byte / 32 * 128 + byte % 32;
      unsigned bits = 0;
      for (std::size_t pair = 0; pair < 4; ++pair) bits |= scale.code(x[first + 32 * pair]) << (2 * pair);
      b.qs[byte] = static_cast<std::uint8_t>(bits);
    }
  }
};

}  // namespace nibblas::formats
