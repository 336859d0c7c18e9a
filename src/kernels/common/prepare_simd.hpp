// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "kernels/common/pack_simd.hpp"
#include "kernels/common/prepare.hpp"

// prepare_f32() with vectors, the same bits: 16 rows of X at a time, transposed like 16 rows of weights.

namespace nibblas {
namespace {

/// x[k .. k + 32) of 16 rows into their places of out[K][tokens].
template <class Transposer>
[[gnu::always_inline]] inline void transpose_tokens(const PrepareArgs& a, std::size_t t0, std::size_t k,
                                                    float* out) noexcept {
  const std::size_t stride = a.stride * sizeof(float);
  const auto* rows = reinterpret_cast<const std::byte*>(a.x + t0 * a.stride);
  for (std::size_t i = k; i < k + kActBlock; i += 4) {
    prefetch_rows(rows, stride, a.K * sizeof(float), i * sizeof(float), 16);
    alignas(64) std::byte words[4 * 64];
    Transposer::words4(rows + i * sizeof(float), stride, words);
    for (std::size_t j = 0; j < 4; ++j) std::memcpy(out + (i + j) * a.tokens + t0, words + j * 64, 64);
  }
}

/// Sums of each 32 of one row: 16 sums side by side, since each is a chain of additions that wait for each other.
template <class Transposer>
void sums_of_row(const float* x, std::size_t K, float* sums) noexcept {
  constexpr std::size_t run = kPanelRows * kActBlock;
  std::size_t k = 0;
  for (; k + run <= K; k += run, sums += kPanelRows) {
    float sum[kPanelRows] = {};
    for (std::size_t i = 0; i < kActBlock; i += 4) {
      alignas(64) float words[4][kPanelRows];
      Transposer::words4(reinterpret_cast<const std::byte*>(x + k + i), kActBlock * sizeof(float),
                         reinterpret_cast<std::byte*>(words));
      for (const auto& word : words) {
        for (std::size_t b = 0; b < kPanelRows; ++b) sum[b] += word[b];
      }
    }
    std::memcpy(sums, sum, sizeof sum);
  }
  for (; k < K; ++sums) {
    const std::size_t end = K - k < kActBlock ? K : k + kActBlock;
    float sum = 0;
    for (; k < end; ++k) sum += x[k];
    *sums = sum;
  }
}

/// x[K][T] and the sums of each 32.
template <class Transposer>
void prepare_f32_simd(const PrepareArgs& a) noexcept {
  auto* out = reinterpret_cast<float*>(a.out);
  float* sums = out + a.K * a.tokens;
  if (a.tokens == 1) {
    std::memcpy(out, a.x, a.K * sizeof(float));
    return sums_of_row<Transposer>(a.x, a.K, sums);
  }
  if (a.tokens < kPanelRows) return prepare_f32(a);
  for (std::size_t k = 0; k + kActBlock <= a.K; k += kActBlock, sums += a.tokens) {
    std::size_t t0 = 0;
    for (; t0 + kPanelRows <= a.tokens; t0 += kPanelRows) transpose_tokens<Transposer>(a, t0, k, out);
    if (t0 < a.tokens) transpose_tokens<Transposer>(a, a.tokens - kPanelRows, k, out);  // some of them once more
    for (std::size_t t = 0; t < a.tokens; ++t) sums[t] = 0;
    for (std::size_t i = k; i < k + kActBlock; ++i) {
      const float* x = out + i * a.tokens;
      for (std::size_t t = 0; t < a.tokens; ++t) sums[t] += x[t];
    }
  }
  prepare_f32_from(a, a.K / kActBlock * kActBlock);
}

}  // namespace
}  // namespace nibblas
