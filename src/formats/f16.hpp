// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"

namespace nibblas::formats {

/// f16: IEEE binary16.
struct F16 {
  struct Block {
    std::uint16_t bits;
  };
  static constexpr DType dtype = DType::f16;
  static constexpr float max_abs = kHalfLimit;

  static void decode(const Block& b, float* out) noexcept { *out = half_to_float(b.bits); }
  static Fault check(const Block& b) noexcept { return check_element(half_to_float(b.bits)); }
  static void encode(const float* x, Block& b) noexcept { b.bits = float_to_half(*x); }
};

}  // namespace nibblas::formats
