// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/scalar/codecs.hpp"
#include "nibblas/kernel.hpp"

// Integer dots on q8 activations, in the canonical order of docs/numerics.md, one operation a line.

namespace nibblas::scalar {
namespace {

/// The activation block b of a tile of T tokens.
struct ActivationBlock {
  const std::int8_t* codes;  ///< [T][32]
  const Int8Token* token;    ///< [T]
};

inline ActivationBlock activation_block(const std::byte* tile, std::size_t tokens, std::size_t b) noexcept {
  const std::byte* p = tile + b * tokens * (kActBlock + sizeof(Int8Token));
  return {reinterpret_cast<const std::int8_t*>(p), reinterpret_cast<const Int8Token*>(p + tokens * kActBlock)};
}

/// isum[r] += sum over n codes.
inline void dot(const std::int8_t (*q)[kPanelRows], const std::int8_t* x, std::size_t n, std::int32_t* isum) noexcept {
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t r = 0; r < kPanelRows; ++r) isum[r] += std::int32_t{q[k][r]} * x[k];
  }
}

/// int8 for q8_0, q4_0, q4_k, q5_k, q6_k, tq1_0, tq2_0.
template <class Codec>
void int8_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  constexpr std::size_t subs_per_act = kActBlock / Codec::sub;
  UnpackedBlock u;
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * kPanelRows, 0.0f);
    const std::byte* block = a.panels[p];
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, block += layout.block_bytes) {
      Codec::unpack(block, u);
      for (std::size_t j = 0; j < layout.block_elems / kActBlock; ++j) {
        const ActivationBlock x = activation_block(a.x, a.tokens, k / kActBlock + j);
        for (std::size_t t = 0; t < a.tokens; ++t) {
          float* acc = state + t * kPanelRows;
          const Int8Token& token = x.token[t];
          for (std::size_t s = j * subs_per_act; s < (j + 1) * subs_per_act; ++s) {
            std::int32_t isum[kPanelRows] = {};
            dot(u.q + s * Codec::sub, x.codes + t * kActBlock + s * Codec::sub % kActBlock, Codec::sub, isum);
            for (std::size_t r = 0; r < kPanelRows; ++r) {
              acc[r] = std::fma(static_cast<float>(isum[r]), u.scale[s][r] * token.d, acc[r]);
              if constexpr (Codec::has_min) acc[r] = std::fma(-u.min[s][r], token.dsum, acc[r]);
            }
          }
        }
      }
    }
  }
}

/// int8_token for tq1_0, tq2_0: one integer sum per 256 and scale.
template <class Codec>
void int8_token_tq_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  UnpackedBlock u;
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * kPanelRows, 0.0f);
    const std::byte* block = a.panels[p];
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, block += layout.block_bytes) {
      Codec::unpack(block, u);
      for (std::size_t t = 0; t < a.tokens; ++t) {
        std::int32_t isum[kPanelRows] = {};
        float dx = 0;
        for (std::size_t j = 0; j < layout.block_elems / kActBlock; ++j) {
          const ActivationBlock x = activation_block(a.x, a.tokens, k / kActBlock + j);
          dot(u.q + j * kActBlock, x.codes + t * kActBlock, kActBlock, isum);
          dx = x.token[t].d;
        }
        for (std::size_t r = 0; r < kPanelRows; ++r) {
          float& acc = state[t * kPanelRows + r];
          acc = std::fma(static_cast<float>(isum[r]), u.scale[0][r] * dx, acc);
        }
      }
    }
  }
}

/// bitnet_b158: int8 keeps an f32 sum over scaled blocks, int8_token one int32 sum over all K (in the state's bits).
template <bool PerToken>
void int8_bitnet_tile(const TileArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(DType::bitnet_b158);
  std::int8_t q[kActBlock][kPanelRows];
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    float* state = a.state + p * a.tokens * kPanelRows;
    if (a.k0 == 0) std::fill_n(state, a.tokens * kPanelRows, 0.0f);  // also the bits of integer 0
    const std::byte* block = a.panels[p];
    for (std::size_t k = a.k0; k < a.k1; k += kActBlock, block += layout.block_bytes) {
      unpack_ternary(block, 2, q);
      const ActivationBlock x = activation_block(a.x, a.tokens, k / kActBlock);
      for (std::size_t t = 0; t < a.tokens; ++t) {
        std::int32_t isum[kPanelRows] = {};
        dot(q, x.codes + t * kActBlock, kActBlock, isum);
        for (std::size_t r = 0; r < kPanelRows; ++r) {
          float& acc = state[t * kPanelRows + r];
          if constexpr (PerToken) {
            acc = std::bit_cast<float>(std::bit_cast<std::int32_t>(acc) + isum[r]);
          } else {
            acc = std::fma(static_cast<float>(isum[r]), x.token[t].d, acc);
          }
        }
      }
    }
    if (a.k1 != a.K) continue;
    for (std::size_t t = 0; t < a.tokens; ++t) {
      const float dx = activation_block(a.x, a.tokens, 0).token[t].d;
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        float scale;
        std::memcpy(&scale, block + 4 * r, sizeof scale);
        float& y = state[t * kPanelRows + r];
        y = PerToken ? static_cast<float>(std::bit_cast<std::int32_t>(y)) * (scale * dx) : y * scale;
      }
    }
  }
}

}  // namespace
}  // namespace nibblas::scalar
