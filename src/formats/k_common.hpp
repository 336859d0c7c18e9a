// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "formats/half.hpp"
#include "strict_fp.hpp"

// What the two K-quant searches share.

namespace nibblas::formats {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The sum of N values (a power of two, at least 4), halves added to halves: an order that SIMD keeps.
template <std::size_t N>
float fold(float* v) noexcept {
  if constexpr (N == 4) {
    return (v[0] + v[2]) + (v[1] + v[3]);
  } else {
    for (std::size_t i = 0; i < N / 2; ++i) v[i] += v[i + N / 2];
    return fold<N / 2>(v);
  }
}

/// x scaled by a power of two so that the largest magnitude is in [1, 2): neither subnormals nor large values meet the
/// squares below.
struct Normalised {
  alignas(32) float x[256];
  double factor = 0;  ///< x = factor * original; 0 for a block of zeros

  explicit Normalised(const float* original) noexcept {
    float amax = 0;
    for (std::size_t i = 0; i < 256; ++i) amax = std::max(amax, std::fabs(original[i]));
    if (amax == 0) return;
    const auto biased = std::bit_cast<std::uint64_t>(static_cast<double>(amax)) >> 52;
    factor = std::bit_cast<double>((2046 - biased) << 52);
    for (std::size_t i = 0; i < 256; ++i) {
      x[i] = static_cast<float>(static_cast<double>(original[i]) * factor);
    }
  }

  /// The f16 nearest to a normalised scale, but finite, and not 0 unless the scale is: where f16 runs out, the smallest
  /// d with small codes still beats zeros.
  std::uint16_t to_half(double scale) const noexcept {
    constexpr double kLargest = 65504.0, kSmallest = 0x1p-24;
    if (scale == 0) return 0;
    const double magnitude = std::clamp(std::fabs(scale) / factor, kSmallest, kLargest);
    return float_to_half(static_cast<float>(std::copysign(magnitude, scale)));
  }
  float from_half(std::uint16_t h) const noexcept {
    return static_cast<float>(static_cast<double>(half_to_float(h)) * factor);
  }
};

/// A scale that f16 may have rounded down by a good part of its value, so that the largest sc is clamped: the next one
/// is worth a try.
constexpr bool subnormal(std::uint16_t half) noexcept { return (half & 0x7c00u) == 0 && (half & 0x3ffu) != 0; }

inline float reciprocal(float v) noexcept { return v != 0 ? 1.0f / v : 0.0f; }

constexpr float nearest_code(float v, float max_code) noexcept {
  const float low = v > 0.0f ? v : 0.0f;
  const float clamped = low < max_code ? low : max_code;
  return static_cast<float>(static_cast<int>(clamped + 0.5f));
}

}  // namespace nibblas::formats
