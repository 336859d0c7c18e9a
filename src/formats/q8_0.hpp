// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "formats/codec.hpp"

namespace nibblas::formats {

/// q8_0: 32 weights in 34 bytes, w = d * q.
///
///   byte  0  2                              34
///         | d | qs[0] qs[1] ...       qs[31] |
///          f16   i8, element j
struct Q8_0 {
  struct Block {
    std::uint16_t d;
    std::int8_t qs[32];
  };
  static_assert(sizeof(Block) == 34 && offsetof(Block, qs) == 2);
  static constexpr DType dtype = DType::q8_0;
  static constexpr float max_abs = 8321039.5f;  // amax / 127 must stay below 65520

  static void decode(const Block& b, float* out) noexcept {
    const float d = half_to_float(b.d);
    for (std::size_t j = 0; j < 32; ++j) out[j] = static_cast<float>(b.qs[j]) * d;
  }

  static Fault check(const Block& b) noexcept { return check_scale("d", b.d); }

  static void encode(const float* x, Block& b) noexcept {
    float amax = 0.0f;
    for (std::size_t j = 0; j < 32; ++j) amax = std::max(amax, std::fabs(x[j]));
    const float d = amax / 127.0f;
    const float id = reciprocal_or_zero(d);
    b.d = float_to_half(id != 0.0f ? d : 0.0f);
    for (std::size_t j = 0; j < 32; ++j) b.qs[j] = static_cast<std::int8_t>(round_half_away(x[j] * id));
  }
};

}  // namespace nibblas::formats
