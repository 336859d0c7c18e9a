// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <xsimd/xsimd.hpp>

#include "kernels/common/prepare.hpp"
#include "kernels/xsimd/bits.hpp"

namespace nibblas::xsimd_kernels {
namespace {

template <class Target>
struct Quantiser {
  /// Without their sign, floats compare as the integers that their bits are, Inf and NaN above all others.
  [[gnu::always_inline]] static bool amax32(const float* x, float& amax) noexcept {
    I largest(0);
    for (std::size_t i = 0; i < kActBlock; i += F::size) {
      largest = ::xsimd::max(largest, cast<I>(F::load_unaligned(x + i)) & I(0x7fffffff));
    }
    alignas(64) std::int32_t lane[F::size];
    largest.store_aligned(lane);
    for (std::size_t i = 1; i < F::size; ++i) lane[0] = std::max(lane[0], lane[i]);
    if (lane[0] >= kInfinity) return false;
    float largest_float;
    std::memcpy(&largest_float, lane, sizeof largest_float);
    amax = std::max(amax, largest_float);
    return true;
  }

  /// |x * id| <= 127.5: adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the low bits of the mantissa.
  [[gnu::always_inline]] static Q8Sums codes32(const float* x, float id, std::int8_t* codes) noexcept {
    constexpr float shifter = 12582912.0f;
    alignas(64) std::int32_t q[kActBlock];
    const I zero = cast<I>(F(shifter));
    for (std::size_t i = 0; i < kActBlock; i += F::size) {
      const I code = cast<I>(F::load_unaligned(x + i) * F(id) + F(shifter)) - zero;
      code.store_aligned(q + i);
    }
    Q8Sums sums{0, 0};
    for (std::size_t i = 0; i < 16; ++i) sums.low += q[i];
    for (std::size_t i = 16; i < kActBlock; ++i) sums.high += q[i];
    for (std::size_t i = 0; i < kActBlock; ++i) codes[i] = static_cast<std::int8_t>(q[i]);
    return sums;
  }

 private:
  using F = ::xsimd::batch<float, Target>;
  using I = ::xsimd::batch<std::int32_t, Target>;
  static constexpr std::int32_t kInfinity = 0x7f800000;
};

}  // namespace
}  // namespace nibblas::xsimd_kernels
