// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/scalar/codecs.hpp"
#include "nibblas/kernel.hpp"

// Products on f32 activations x[K][T], in the canonical order of docs/numerics.md, one operation a line.

namespace nibblas::scalar {
namespace {

/// f32, f16, bf16 weights: p per 64, q per 1024, acc. State: {acc[16], q[16]}.
template <DType T>
void float_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(T);
  const auto* x = reinterpret_cast<const float*>(a.x);
  float w[64][kPanelRows];
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * 2 * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * 2 * kPanelRows, 0.0f);
    for (std::size_t k = a.k0; k < a.k1; k += 64) {
      const std::size_t n = std::min<std::size_t>(64, a.k1 - k);
      const std::byte* words = a.panels[p] + (k - a.k0) * layout.block_bytes;
      for (std::size_t i = 0; i < n * kPanelRows; ++i) {
        if constexpr (T == DType::f32) {
          std::memcpy(&w[0][0] + i, words + 4 * i, 4);
        } else {
          std::uint16_t h;
          std::memcpy(&h, words + 2 * i, 2);
          (&w[0][0])[i] = T == DType::f16 ? formats::half_to_float(h) : formats::brain_to_float(h);
        }
      }
      const bool fold = (k + n) % 1024 == 0 || k + n == a.K;
      for (std::size_t t = 0; t < a.tokens; ++t) {
        float sum[kPanelRows] = {};
        for (std::size_t i = 0; i < n; ++i) {
          const float xk = x[(k + i) * a.tokens + t];
          for (std::size_t r = 0; r < kPanelRows; ++r) sum[r] = std::fma(xk, w[i][r], sum[r]);
        }
        float* acc = state + t * 2 * kPanelRows;
        float* q = acc + kPanelRows;
        for (std::size_t r = 0; r < kPanelRows; ++r) q[r] += sum[r];
        if (!fold) continue;
        for (std::size_t r = 0; r < kPanelRows; ++r) {
          acc[r] += q[r];
          q[r] = 0;
        }
      }
    }
    // Finished results lie dense: state_floats is 2, so slot t starts at 32 t and its first 16 floats are Y already.
  }
}

/// q8_0, q4_0, q4_k, q5_k, q6_k: one fma chain per scale, the minimum once per sub-block.
template <class Codec>
void block_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  const auto* x = reinterpret_cast<const float*>(a.x);
  const float* sums = x + a.K * a.tokens;
  UnpackedBlock u;
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * kPanelRows, 0.0f);
    const std::byte* block = a.panels[p];
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, block += layout.block_bytes) {
      Codec::unpack(block, u);
      for (std::size_t s = 0; s < layout.block_elems / Codec::sub; ++s) {
        const std::size_t first = k + s * Codec::sub;
        for (std::size_t t = 0; t < a.tokens; ++t) {
          float sum[kPanelRows] = {};
          for (std::size_t i = 0; i < Codec::sub; ++i) {
            const float xk = x[(first + i) * a.tokens + t];
            for (std::size_t r = 0; r < kPanelRows; ++r) {
              sum[r] = std::fma(xk, static_cast<float>(u.q[s * Codec::sub + i][r]), sum[r]);
            }
          }
          float* acc = state + t * kPanelRows;
          for (std::size_t r = 0; r < kPanelRows; ++r) {
            acc[r] = std::fma(u.scale[s][r], sum[r], acc[r]);
            if constexpr (Codec::has_min) acc[r] = std::fma(-u.min[s][r], sums[first / 32 * a.tokens + t], acc[r]);
          }
        }
      }
    }
  }
}

/// p[r] over n <= 64 ternary elements of token t: pairs, an odd last element alone.
inline void ternary_pairs(const std::int8_t (*c)[kPanelRows], const float* x, std::size_t stride, std::size_t n,
                          float* p) noexcept {
  for (std::size_t k = 0; k < n; k += 2) {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      float t = x[k * stride] * static_cast<float>(c[k][r]);
      if (k + 1 < n) t = std::fma(x[(k + 1) * stride], static_cast<float>(c[k + 1][r]), t);
      p[r] += t;
    }
  }
}

/// tq1_0, tq2_0: p per 64, q over the four p of a block, acc = fma(d, q, acc).
template <class Codec>
void ternary_block_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  const auto* x = reinterpret_cast<const float*>(a.x);
  UnpackedBlock u;
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * kPanelRows, 0.0f);
    const std::byte* block = a.panels[p];
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, block += layout.block_bytes) {
      Codec::unpack(block, u);
      for (std::size_t t = 0; t < a.tokens; ++t) {
        float q[kPanelRows] = {};
        for (std::size_t part = 0; part < 4; ++part) {
          float sum[kPanelRows] = {};
          ternary_pairs(u.q + 64 * part, x + (k + 64 * part) * a.tokens + t, a.tokens, 64, sum);
          for (std::size_t r = 0; r < kPanelRows; ++r) q[r] += sum[r];
        }
        float* acc = state + t * kPanelRows;
        for (std::size_t r = 0; r < kPanelRows; ++r) acc[r] = std::fma(u.scale[0][r], q[r], acc[r]);
      }
    }
  }
}

/// bitnet_b158: p per 64, q per 1024, acc, and the row's scale at the end. State: {acc[16], q[16]}.
void bitnet_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(DType::bitnet_b158);
  const auto* x = reinterpret_cast<const float*>(a.x);
  std::int8_t codes[64][kPanelRows];
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * 2 * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * 2 * kPanelRows, 0.0f);
    for (std::size_t k = a.k0; k < a.k1; k += 64) {
      const std::size_t n = std::min<std::size_t>(64, a.k1 - k);
      unpack_ternary(a.panels[p] + layout.range_bytes(a.k0, k), n > 32 ? 4 : 2, codes);
      const bool fold = (k + n) % 1024 == 0 || k + n == a.K;
      for (std::size_t t = 0; t < a.tokens; ++t) {
        float sum[kPanelRows] = {};
        ternary_pairs(codes, x + k * a.tokens + t, a.tokens, n, sum);
        float* acc = state + t * 2 * kPanelRows;
        float* q = acc + kPanelRows;
        for (std::size_t r = 0; r < kPanelRows; ++r) {
          q[r] += sum[r];
          if (fold) {
            acc[r] += q[r];
            q[r] = 0;
          }
        }
      }
    }
    if (a.k1 != a.K) continue;
    const std::byte* scales = a.panels[p] + layout.range_bytes(a.k0, a.K);
    for (std::size_t t = 0; t < a.tokens; ++t) {
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        float scale;
        std::memcpy(&scale, scales + 4 * r, sizeof scale);
        state[t * 2 * kPanelRows + r] *= scale;
      }
    }
  }
}

}  // namespace
}  // namespace nibblas::scalar
