// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>

#include "kernels/common/prepare.hpp"

namespace nibblas::scalar {
namespace {

/// The definition of the q8 quantiser's arithmetic.
struct Quantiser {
  static bool amax32(const float* x, float& amax) noexcept {
    bool finite = true;
    for (std::size_t i = 0; i < kActBlock; ++i) {
      const float magnitude = std::fabs(x[i]);
      finite &= magnitude <= std::numeric_limits<float>::max();  // false for NaN too
      if (magnitude > amax) amax = magnitude;
    }
    return finite;
  }

  static Q8Sums codes32(const float* x, float id, std::int8_t* codes) noexcept {
    Q8Sums sums{0, 0};
    for (std::size_t i = 0; i < kActBlock; ++i) {
      const std::int32_t q = round_half_even(x[i] * id);
      codes[i] = static_cast<std::int8_t>(q);
      (i < 16 ? sums.low : sums.high) += q;
    }
    return sums;
  }

 private:
  /// |v| <= 127.5: adding 1.5 * 2^23 leaves the integer nearest to v (ties to even) in the low mantissa bits.
  static std::int32_t round_half_even(float v) noexcept {
    return std::bit_cast<std::int32_t>(v + 12582912.0f) - std::bit_cast<std::int32_t>(12582912.0f);
  }
};

}  // namespace
}  // namespace nibblas::scalar
