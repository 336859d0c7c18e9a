// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "nibblas/kernel.hpp"

// Activations: the definition of the q8 quantiser and of the two tile layouts of panel.hpp.

namespace nibblas::scalar {
namespace {

void prepare_f32(const PrepareArgs& a) noexcept {
  auto* x = reinterpret_cast<float*>(a.out);
  float* sums = x + a.K * a.tokens;
  for (std::size_t t = 0; t < a.tokens; ++t) {
    const float* row = a.x + t * a.stride;
    for (std::size_t k = 0; k < a.K; k += kActBlock) {
      float sum = 0;
      for (std::size_t i = k; i < a.K && i < k + kActBlock; ++i) {
        x[i * a.tokens + t] = row[i];
        sum += row[i];
      }
      sums[k / kActBlock * a.tokens + t] = sum;
    }
  }
}

struct Q8Scale {
  float d;
  float id;
};

/// Scale of n elements: d = amax / 127. Amplitudes whose 1/d is not finite become 0; a non-finite element makes d NaN.
inline Q8Scale q8_scale(const float* x, std::size_t n) noexcept {
  float amax = 0;
  bool finite = true;
  for (std::size_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(x[i]);
    finite &= magnitude <= std::numeric_limits<float>::max();  // false for NaN too
    if (magnitude > amax) amax = magnitude;
  }
  if (!finite) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const float d = amax / 127.0f;
  const float id = 1.0f / d;
  return id <= std::numeric_limits<float>::max() ? Q8Scale{d, id} : Q8Scale{0, 0};
}

/// |v| <= 127.5: adding 1.5 * 2^23 leaves the integer nearest to v (ties to even) in the low mantissa bits.
inline std::int32_t round_half_even(float v) noexcept {
  return std::bit_cast<std::int32_t>(v + 12582912.0f) - std::bit_cast<std::int32_t>(12582912.0f);
}

/// n <= 32 elements of one token; codes past n are 0.
inline void q8_block(const float* x, std::size_t n, Q8Scale scale, std::int8_t* codes, Int8Token& token) noexcept {
  std::memset(codes, 0, kActBlock);
  std::int32_t low = 0;
  std::int32_t high = 0;
  for (std::size_t i = 0; scale.id != 0 && i < n; ++i) {
    const std::int32_t q = round_half_even(x[i] * scale.id);
    codes[i] = static_cast<std::int8_t>(q);
    (i < 16 ? low : high) += q;
  }
  token = {scale.d, scale.d * static_cast<float>(low + high), -8 * (low + high), -8 * low};
}

/// A scale per 32 (int8) or per row (int8_token).
template <bool PerToken>
void prepare_int8(const PrepareArgs& a) noexcept {
  const std::size_t block_bytes = a.tokens * (kActBlock + sizeof(Int8Token));
  for (std::size_t t = 0; t < a.tokens; ++t) {
    const float* row = a.x + t * a.stride;
    Q8Scale scale{};
    if constexpr (PerToken) scale = q8_scale(row, a.K);
    for (std::size_t k = 0; k < a.K; k += kActBlock) {
      const std::size_t n = a.K - k < kActBlock ? a.K - k : kActBlock;
      if constexpr (!PerToken) scale = q8_scale(row + k, n);
      std::byte* block = a.out + k / kActBlock * block_bytes;
      Int8Token token;
      q8_block(row + k, n, scale, reinterpret_cast<std::int8_t*>(block) + t * kActBlock, token);
      std::memcpy(block + a.tokens * kActBlock + t * sizeof token, &token, sizeof token);
    }
  }
}

}  // namespace
}  // namespace nibblas::scalar
