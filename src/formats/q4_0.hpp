// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "formats/codec.hpp"

namespace nibblas::formats {

/// q4_0: 32 weights in 18 bytes, w = d * (q - 8). d is negative for about half of real blocks.
///
///   byte  0  2                              18
///         | d | qs[0] qs[1] ...       qs[15] |
///          f16   low nibble: element j, high nibble: element j + 16
struct Q4_0 {
  struct Block {
    std::uint16_t d;
    std::uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18 && offsetof(Block, qs) == 2);
  static constexpr DType dtype = DType::q4_0;
  static constexpr float max_abs = 8.0f * kHalfLimit;

  static void decode(const Block& b, float* out) noexcept {
    const float d = half_to_float(b.d);
    for (std::size_t j = 0; j < 16; ++j) {
      out[j] = static_cast<float>((b.qs[j] & 15) - 8) * d;
      out[j + 16] = static_cast<float>((b.qs[j] >> 4) - 8) * d;
    }
  }

  static Fault check(const Block& b) noexcept { return check_scale("d", b.d); }

  static void encode(const float* x, Block& b) noexcept {
    float amax = 0.0f;
    float extreme = 0.0f;
    for (std::size_t j = 0; j < 32; ++j) {
      if (std::fabs(x[j]) > amax) {
        amax = std::fabs(x[j]);
        extreme = x[j];
      }
    }
    const float d = extreme / -8.0f;
    const float id = reciprocal_or_zero(d);
    b.d = float_to_half(id != 0.0f ? d : -0.0f);  // ggml's zero block has the sign that 0 / -8 has
    for (std::size_t j = 0; j < 16; ++j) {
      b.qs[j] = static_cast<std::uint8_t>(code(x[j] * id) | (code(x[j + 16] * id) << 4));
    }
  }

 private:
  static int code(float v) noexcept { return std::min(15, static_cast<int>(v + 8.5f)); }
};

}  // namespace nibblas::formats
