// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <limits>

#include "nibblas/kernel.hpp"

// Activation tiles, as panel.hpp draws them. `Quantiser` does the arithmetic on 32 elements:
//   static bool amax32(const float* x, float& amax)   raises amax to the largest |x|; false when one is NaN or Inf
//   static Sums codes32(const float* x, float id, std::int8_t* codes)   round_half_even(x * id), their sums

namespace nibblas {
namespace {

struct Q8Scale {
  float d;
  float id;  ///< 0: all codes are 0
};

struct Q8Sums {
  std::int32_t low;   ///< codes 0..15
  std::int32_t high;  ///< codes 16..31
};

/// d = amax / 127. Amplitudes whose 1/d is not finite become 0; a non-finite element makes d NaN.
inline Q8Scale q8_scale(float amax, bool finite) noexcept {
  if (!finite) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const float d = amax / 127.0f;
  const float id = 1.0f / d;
  return id <= std::numeric_limits<float>::max() ? Q8Scale{d, id} : Q8Scale{0, 0};
}

/// 32 elements from x, or from `padded` with zeros after the last n.
inline const float* padded32(const float* x, std::size_t n, float (&padded)[kActBlock]) noexcept {
  if (n >= kActBlock) return x;
  std::memset(padded, 0, sizeof padded);
  std::memcpy(padded, x, n * sizeof(float));
  return padded;
}

template <class Quantiser>
inline Q8Scale row_scale(const float* row, std::size_t K) noexcept {
  float padded[kActBlock];
  float amax = 0;
  bool finite = true;
  for (std::size_t k = 0; k < K; k += kActBlock) finite &= Quantiser::amax32(padded32(row + k, K - k, padded), amax);
  return q8_scale(amax, finite);
}

/// A scale per 32 elements (int8) or per row (int8_token).
template <class Quantiser, bool PerToken>
void prepare_int8(const PrepareArgs& a) noexcept {
  const std::size_t block_bytes = a.tokens * (kActBlock + sizeof(Int8Token));
  for (std::size_t t = 0; t < a.tokens; ++t) {
    const float* row = a.x + t * a.stride;
    float padded[kActBlock];
    Q8Scale scale{};
    if constexpr (PerToken) scale = row_scale<Quantiser>(row, a.K);
    std::byte* block = a.out;
    for (std::size_t k = 0; k < a.K; k += kActBlock, block += block_bytes) {
      const float* x = padded32(row + k, a.K - k, padded);
      if constexpr (!PerToken) {
        float amax = 0;
        const bool finite = Quantiser::amax32(x, amax);
        scale = q8_scale(amax, finite);
      }
      auto* codes = reinterpret_cast<std::int8_t*>(block) + t * kActBlock;
      Q8Sums sums{0, 0};
      if (scale.id != 0) {
        sums = Quantiser::codes32(x, scale.id, codes);
      } else {
        std::memset(codes, 0, kActBlock);
      }
      const std::int32_t sum = sums.low + sums.high;
      const Int8Token token{scale.d, scale.d * static_cast<float>(sum), -8 * sum, -8 * sums.low};
      std::memcpy(block + a.tokens * kActBlock + t * sizeof token, &token, sizeof token);
    }
  }
}

/// x[K][T] and the sums of each 32, ascending, from element `k` (a multiple of 32) on. One token after the other inside
/// a block of 32: rows of X are often a multiple of 4 KiB apart, so reading them side by side would use one set of the
/// L1 cache.
inline void prepare_f32_from(const PrepareArgs& a, std::size_t k) noexcept {
  auto* out = reinterpret_cast<float*>(a.out);
  float* sums = out + (a.K + k / kActBlock) * a.tokens;
  for (; k < a.K; k += kActBlock, sums += a.tokens) {
    const std::size_t n = a.K - k < kActBlock ? a.K - k : kActBlock;
    for (std::size_t t = 0; t < a.tokens; ++t) {
      const float* x = a.x + t * a.stride + k;
      float* to = out + k * a.tokens + t;
      float sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        to[i * a.tokens] = x[i];
        sum += x[i];
      }
      sums[t] = sum;
    }
  }
}

inline void prepare_f32(const PrepareArgs& a) noexcept { prepare_f32_from(a, 0); }

}  // namespace
}  // namespace nibblas
