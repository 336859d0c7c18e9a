// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "formats/codec.hpp"

namespace nibblas::formats {

/// f32: the values themselves.
struct F32 {
  struct Block {
    std::uint32_t bits;
  };
  static constexpr DType dtype = DType::f32;
  static constexpr float max_abs = std::numeric_limits<float>::max();

  static void decode(const Block& b, float* out) noexcept { std::memcpy(out, &b.bits, sizeof b.bits); }
  static Fault check(const Block& b) noexcept { return check_element(std::bit_cast<float>(b.bits)); }
  static void encode(const float* x, Block& b) noexcept { b.bits = std::bit_cast<std::uint32_t>(*x); }
};

}  // namespace nibblas::formats
