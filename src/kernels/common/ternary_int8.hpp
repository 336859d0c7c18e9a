// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/common/int8.hpp"
#include "kernels/common/ternary.hpp"
#include "kernels/common/ternary_one.hpp"

// Ternary weights on int8 activations, for any Isa. With a scale per 32 activations they go through the int8 tile like
// every other format. With a scale per token nothing but integer dots happens for 256 elements (tq1_0, tq2_0) or all K
// (bitnet_b158), so the sums of several tokens stay in registers.

namespace nibblas {
namespace {

/// int8. bitnet_b158: acc over scaled blocks, y = acc * scale.
template <class Isa, DType W, std::size_t C, std::size_t T, std::size_t Wide>
void ternary_int8_tile(const TileArgs& a) noexcept {
  if constexpr (LooksUpCodes<Isa>) {
    int8_tile<Isa, Ternary<Isa, W>, C, T, Wide>(a);
  } else {
    for_columns<Isa, C, Wide>(
        a, 1, [&](const auto& col) __attribute__((always_inline)) { ScaledOfOne<Isa, W>::run(a, col); },
        [&](const auto& col, Pass pass) __attribute__((always_inline)) {
          int8_many<Isa, Ternary<Isa, W>, T>(a, col, AheadShare(a, pass, kActBlock));
        });
  }
  if constexpr (has_tail_scale(W)) {
    if (a.k1 == a.K) scale_rows<Isa>(a, 1);
  }
}

/// isum[t][c] += dots of `blocks` x 32 elements. The blocks begin at `offset`, x at the first token of the first one.
template <class Isa, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void ternary_dots(const ColumnRef (&col)[C], std::size_t offset, const std::byte* x,
                                                std::size_t x_block, std::size_t blocks,
                                                typename Isa::I (&isum)[T][C]) noexcept {
  using I = typename Isa::I;
  using Dots = typename Isa::template LoopDots<kTernaryMaxCode>;
  // A dot waits four cycles for the one before it, and two start in each: 8 sums are needed to keep up.
  constexpr std::size_t chains = T * C <= 4 ? 2 : 1;
  constexpr std::size_t fit = Dots::max_steps / (kActBlock / 4) * chains;
  static_assert(fit >= chains, "a block of 32 must fit the sums");
  const std::byte* w[C];
  for (std::size_t c = 0; c < C; ++c) w[c] = col[c].blocks + offset + col[c].column * Isa::lanes * 4;
  while (blocks != 0) {
    const std::size_t n = blocks < fit ? blocks : fit;
    blocks -= n;
    Dots dots[chains][T][C];
    for_each_index<chains * T * C>([&](auto i) __attribute__((always_inline)) {
      dots[i() / (T * C)][i() / C % T][i() % C].start();
    });
    for (std::size_t b = 0; b < n; ++b, x += x_block) {
      for_each_index<2>([&](auto j) __attribute__((always_inline)) {
        I word[C];
        for_each_index<C>([&](auto c)
                              __attribute__((always_inline)) { word[c()] = Isa::load_words(w[c()] + j() * 64); });
        for_each_index<4>([&](auto g) __attribute__((always_inline)) {
          I codes[C];
          for_each_index<C>([&](auto c)
                                __attribute__((always_inline)) { codes[c()] = take_ternary_codes<Isa>(word[c()]); });
          for_each_index<T>([&](auto t) __attribute__((always_inline)) {
            const auto xt = x_word<Isa, 4 * j() + g()>(x + t() * kActBlock);
            for_each_index<C>([&](auto c) __attribute__((always_inline)) {
              dots[j() % chains][t()][c()].step(codes[c()], xt);
            });
          });
        });
      });
      for (std::size_t c = 0; c < C; ++c) w[c] += kTernaryBlockBytes;
    }
    for_each_index<chains * T * C>([&](auto i) __attribute__((always_inline)) {
      I& sum = isum[i() / C % T][i() % C];
      sum = Isa::add32(sum, dots[i() / (T * C)][i() / C % T][i() % C].finish());
    });
  }
}

/// -1 * sum of a token's codes in n blocks: what codes with offset 1 have too much.
inline std::int32_t ternary_bias(const std::byte* tile, std::size_t tokens, std::size_t block, std::size_t n,
                                 std::size_t t) noexcept {
  std::int32_t sum = 0;
  for (std::size_t b = 0; b < n; ++b) sum += act_block(tile, tokens, block + b).token[t].bias;
  return sum / 8;
}

// ---- one scale per row: one int32 sum over all K, kept in the bits of the state between K ranges ----

struct TensorTokenTile {
  const TileArgs& a;
  std::int32_t bias[tile_tokens(Compute::int8_token)];  ///< of this K range
};

template <class Isa>
struct TensorToken {
  template <std::size_t C, std::size_t T>
  struct Block {
    static void run(const TensorTokenTile& tile, const ColumnRef (&col)[C], std::size_t token0) noexcept {
      const TileArgs& a = tile.a;
      const std::size_t blocks = panel_layout(DType::bitnet_b158).blocks(a.k1) - a.k0 / kActBlock;
      typename Isa::I isum[T][C];
      for (std::size_t t = 0; t < T; ++t) {
        const auto bias = Isa::broadcast32(&tile.bias[token0 + t]);
        for (std::size_t c = 0; c < C; ++c) {
          const auto* state = reinterpret_cast<const std::byte*>(col[c].state + (token0 + t) * kPanelRows);
          isum[t][c] = a.k0 == 0 ? bias : Isa::add32(Isa::load_words(state), bias);
        }
      }
      const ActBlock x = act_block(a.x, a.tokens, a.k0 / kActBlock);
      ternary_dots<Isa>(col, 0, x.codes + token0 * kActBlock, a.tokens * (kActBlock + sizeof(Int8Token)), blocks, isum);
      for (std::size_t t = 0; t < T; ++t) {
        const auto dx = Isa::broadcast(x.token[token0 + t].d);
        for (std::size_t c = 0; c < C; ++c) {
          float* state = col[c].state + (token0 + t) * kPanelRows;
          if (a.k1 == a.K) {
            const std::byte* scales = col[c].blocks + blocks * kTernaryBlockBytes + col[c].column * Isa::lanes * 4;
            const auto scale = Isa::load(reinterpret_cast<const float*>(scales));
            Isa::store(state, Isa::mul(Isa::to_float(isum[t][c]), Isa::mul(scale, dx)));
          } else {
            Isa::store_words(reinterpret_cast<std::byte*>(state), isum[t][c]);
          }
        }
      }
    }
  };
};

template <class Isa, std::size_t MaxT, std::size_t Wide>
void token_tensor_tile(const TileArgs& a) noexcept {
  TensorTokenTile tile{a, {}};
  const std::size_t block = a.k0 / kActBlock;
  const std::size_t blocks = panel_layout(DType::bitnet_b158).blocks(a.k1) - block;
  for (std::size_t t = 0; t < a.tokens; ++t) tile.bias[t] = ternary_bias(a.x, a.tokens, block, blocks, t);
  for_columns<Isa, 2, Wide>(
      a, 1, [&](const auto& col) __attribute__((always_inline)) { TensorTokenOfOne<Isa>::run(a, tile.bias[0], col); },
      [&](const auto& col, Pass) {
        for_token_parts<TensorToken<Isa>::template Block, kWidth<decltype(col)>, MaxT>(tile, a.tokens, col);
      });
}

// ---- a scale per 256: acc = fma(float(isum), d * dx, acc) ----

template <class Isa>
struct BlockToken {
  template <std::size_t C, std::size_t T>
  struct Block {
    static void run(const TileArgs& a, const ColumnRef (&col)[C], std::size_t token0) noexcept {
      constexpr PanelLayout layout = panel_layout(DType::tq2_0);
      constexpr std::size_t blocks = layout.block_elems / kActBlock;
      const std::size_t x_block = a.tokens * (kActBlock + sizeof(Int8Token));
      std::size_t offset = 0;
      for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
        const std::size_t first = k / kActBlock;
        const ActBlock x = act_block(a.x, a.tokens, first);
        prefetch_block_end<Isa>(col, offset);
        typename Isa::I isum[T][C];
        for (std::size_t t = 0; t < T; ++t) {
          const std::int32_t bias = ternary_bias(a.x, a.tokens, first, blocks, token0 + t);
          for (std::size_t c = 0; c < C; ++c) isum[t][c] = Isa::broadcast32(&bias);
        }
        ternary_dots<Isa>(col, offset, x.codes + token0 * kActBlock, x_block, blocks, isum);
        for (std::size_t c = 0; c < C; ++c) {
          const std::byte* scales = col[c].blocks + offset + blocks * kTernaryBlockBytes;
          const auto d = Isa::load_f16(scales + col[c].column * Isa::lanes * 2);
          for (std::size_t t = 0; t < T; ++t) {
            float* state = col[c].state + (token0 + t) * kPanelRows;
            const auto acc = k == 0 ? Isa::zero() : Isa::load(state);
            const auto scale = Isa::mul(d, Isa::broadcast(x.token[token0 + t].d));
            Isa::store(state, Isa::fma(Isa::to_float(isum[t][c]), scale, acc));
          }
        }
      }
    }
  };
};

template <class Isa, std::size_t MaxT, std::size_t Wide>
void token_block_tile(const TileArgs& a) noexcept {
  for_columns<Isa, 2, Wide>(
      a, 1, [&](const auto& col) __attribute__((always_inline)) { BlockTokenOfOne<Isa>::run(a, col); },
      [&](const auto& col, Pass) {
        for_token_parts<BlockToken<Isa>::template Block, kWidth<decltype(col)>, MaxT>(a, a.tokens, col);
      });
}

}  // namespace
}  // namespace nibblas
