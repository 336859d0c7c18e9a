// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"

namespace nibblas::formats {

/// bf16: the upper 16 bits of an f32.
struct BF16 {
  struct Block {
    std::uint16_t bits;
  };
  static constexpr DType dtype = DType::bf16;
  static constexpr float max_abs = 0x1.fefffep127f;  // the next f32 is the tie that rounds to Inf

  static void decode(const Block& b, float* out) noexcept {
    const std::uint32_t bits = std::uint32_t{b.bits} << 16;
    std::memcpy(out, &bits, sizeof bits);
  }
  static Fault check(const Block& b) noexcept { return check_element(brain_to_float(b.bits)); }
  static void encode(const float* x, Block& b) noexcept { b.bits = float_to_brain(*x); }
};

}  // namespace nibblas::formats
