// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "formats/codec.hpp"

namespace nibblas::formats {

/// How tq1_0 and tq2_0 quantise a block of 256: by its largest magnitude.
struct TernaryScale {
  std::uint16_t d;
  float id;

  /// 0, 1, 2 for -1, 0, +1. By the reciprocal, as in ggml: x / d differs at exact ties.
  unsigned code(float x) const noexcept { return static_cast<unsigned>(round_half_away(x * id) + 1); }
};

inline TernaryScale ternary_scale(const float* x) noexcept {
  float amax = 0.0f;
  for (std::size_t i = 0; i < 256; ++i) amax = std::max(amax, std::fabs(x[i]));
  const float id = reciprocal_or_zero(amax);
  return {float_to_half(id != 0.0f ? amax : 0.0f), id};
}

}  // namespace nibblas::formats
