// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/codecs/codec.hpp"
#include "kernels/common/walk.hpp"
#include "nibblas/kernel.hpp"

// Block formats on f32 activations x[K][T], for any Isa and Codec, in the canonical order: per scale
//   p = 0;  p = fma(x, float(code - offset), p), ascending;  acc = fma(scale, p, acc);
// and per 32, where there is a minimum, acc = fma(-min, sum of the 32 x, acc).

namespace nibblas {
namespace {

/// Elements 4G .. 4G + 3 of sub-block Sub join the chains of the columns and tokens.
template <class Isa, class Codec, std::size_t Sub, std::size_t G, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void f32_block_word(const ColumnRef* col, std::size_t offset, auto run, const float* x,
                                                  typename Isa::F (&chain)[C][T]) noexcept {
  for (std::size_t c = 0; c < C; ++c) {
    typename Isa::F w[4];
    float_codes<Isa, Codec, Sub, G>(block_of<Isa, Codec::dtype>(col[c], offset), run, w);
    for_each_index<T>([&](auto t) __attribute__((always_inline)) {
      if constexpr (G % (8 / Codec::scales_per_32) == 0) chain[c][t] = Isa::zero();
    });
    for_each_index<4 * T>([&](auto j) __attribute__((always_inline)) {
      constexpr std::size_t i = j / T;
      constexpr std::size_t t = j % T;
      chain[c][t] = Isa::fma(Isa::broadcast(x[(4 * G + i) * T + t]), w[i], chain[c][t]);
    });
  }
}

/// T tokens, U times 32 elements from sub-block Sub on, C columns: codes become floats in registers and are used up at
/// once, a broadcast of x serves all columns. Each scale's sum is a chain of fmas that wait for each other, so several
/// go on in turn: of the columns, the tokens, the sub-blocks and, InTurn, of both scales of 32 elements.
template <class Isa, class Codec, std::size_t Sub, std::size_t U, bool InTurn, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void f32_block_step(const ColumnRef* col, std::size_t offset, auto run,
                                                  const typename Codec::Unpacked* const* unpacked, const float* x,
                                                  const float* sums, typename Isa::F (*acc)[T]) noexcept {
  constexpr std::size_t parts = Codec::scales_per_32;
  typename Isa::F p[U][parts][C][T];
  for_each_index<8>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t part = InTurn ? i() % parts : i() * parts / 8;
    constexpr std::size_t g = InTurn ? part * 8 / parts + i() / parts : i();
    for_each_index<U>([&](auto u) __attribute__((always_inline)) {
      f32_block_word<Isa, Codec, Sub + u(), g>(col, offset, run, x + u * kActBlock * T, p[u][part]);
    });
  });
  for_each_index<U>([&](auto u) __attribute__((always_inline)) {
    for (std::size_t c = 0; c < C; ++c) {
      BlockScales<Isa> s;
      Codec::template scales<Sub + u()>(block_scales<Codec::dtype>(col[c], offset), *unpacked[c], run, col[c].column,
                                        s);
      for_each_index<T>([&](auto t) __attribute__((always_inline)) {
        for (std::size_t part = 0; part < parts; ++part) {
          acc[c][t] = Isa::fma(s.scale[part], p[u][part][c][t], acc[c][t]);
        }
        if constexpr (Codec::has_min) acc[c][t] = Isa::fnma(s.min, Isa::broadcast(sums[u * T + t]), acc[c][t]);
      });
    }
  });
}

/// T of at most Few tokens: C columns stream side by side.
template <class Isa, class Codec, std::size_t Few, std::size_t T, std::size_t C>
void f32_block_few(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  // Four chains at once: of four columns (of formats in blocks of 32, eight: no faster from L2, but 5 % from memory),
  // or of two columns and 2 sub-blocks (on AVX-512 from memory q5_k 20 GB/s against 17 with one, q6_k 22 against 17).
  // More tokens are chains of their own, as many as the registers hold.
  constexpr std::size_t chains = Codec::run_elems == kActBlock ? 8 : 4;
  constexpr std::size_t together = std::min(C, T == 1 ? chains : std::bit_floor(4 * Few / T));
  static_assert(C % together == 0);
  constexpr bool few = together * T < 4;
  constexpr std::size_t U = few && Codec::run_elems > kActBlock ? 2 : 1;
  const auto* x = reinterpret_cast<const float*>(a.x);
  const float* sums = x + (a.K + a.k0 / kActBlock) * T;
  x += a.k0 * T;
  typename Isa::F acc[C][T];
  for (std::size_t c = 0; c < C; ++c) {
    for (std::size_t t = 0; t < T; ++t) {
      acc[c][t] = a.k0 == 0 ? Isa::zero() : Isa::load(col[c].state + t * kPanelRows);
    }
  }
  UnpackedScales<Isa, Codec, C> scales;
  std::size_t offset = 0;
  for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
    scales.unpack(col, offset);
    for_each_sub<Codec, true>([&](auto run, auto sub) __attribute__((always_inline)) {
      prefetch_run<Isa, Codec, sub()>(col, offset, run);
      if constexpr (sub() % U == 0) {
#pragma GCC unroll 1
        for (std::size_t c = 0; c < C; c += together) {
          f32_block_step<Isa, Codec, sub(), U, few, together, T>(col + c, offset, run, scales.of + c, x, sums, acc + c);
        }
        x += U * kActBlock * T;
        sums += U * T;
        forget_loads();
      }
    });
  }
  for (std::size_t c = 0; c < C; ++c) {
    for (std::size_t t = 0; t < T; ++t) Isa::store(col[c].state + t * kPanelRows, acc[c][t]);
  }
}

template <class Isa, class Codec, std::size_t Few, std::size_t Wide, std::size_t T>
void f32_block_few_tile(const TileArgs& a) noexcept {
  walk_columns<Isa, Wide, 2>(
      a, 1, [&](const auto& col, Pass) __attribute__((always_inline)) { f32_block_few<Isa, Codec, Few, T>(a, col); });
}

/// 32 elements of C columns as floats: decoded once, used for every token of the tile.
template <class Isa, std::size_t C>
struct FloatBlock {
  typename Isa::F w[kActBlock][C];
  BlockScales<Isa> s[C];
};

/// What T tokens need to take up a FloatBlock.
struct FloatTokens {
  const float* x;     ///< [32][stride], at the first token
  const float* sums;  ///< at the first token
  std::size_t stride;
  float* state[2];  ///< of each column, at the first token
};

/// T tokens x C columns: their sums over a scale's elements are in registers.
template <class Isa, std::size_t ScalesPer32, bool HasMin, std::size_t C, std::size_t T>
void f32_block_tokens(const FloatBlock<Isa, C>& b, const FloatTokens& a) noexcept {
  using F = typename Isa::F;
  constexpr std::size_t elems = kActBlock / ScalesPer32;
  for (std::size_t part = 0; part < ScalesPer32; ++part) {
    F p[T][C];
    for_each_index<T * C>([&](auto j) __attribute__((always_inline)) { p[j() / C][j() % C] = Isa::zero(); });
    const float* x = a.x + part * elems * a.stride;
    for (std::size_t i = 0; i < elems; ++i, x += a.stride) {
      const auto& w = b.w[part * elems + i];
      for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
        constexpr std::size_t t = j() / C;
        constexpr std::size_t c = j() % C;
        p[t][c] = Isa::fma(broadcast_token<Isa, T, t>(x), w[c], p[t][c]);
      });
    }
    for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
      constexpr std::size_t t = j() / C;
      constexpr std::size_t c = j() % C;
      float* state = a.state[c] + t * kPanelRows;
      F acc = Isa::fma(b.s[c].scale[part], p[t][c], Isa::load(state));
      if constexpr (HasMin) acc = Isa::fnma(b.s[c].min, Isa::broadcast(a.sums[t]), acc);
      Isa::store(state, acc);
    });
  }
}

/// Elements 32 Sub .. 32 Sub + 31 of a block, decoded.
template <class Isa, class Codec, std::size_t Sub, std::size_t C>
[[gnu::always_inline]] inline void decode_floats(const ColumnRef (&col)[C], std::size_t offset, auto run,
                                                 const UnpackedScales<Isa, Codec, C>& scales,
                                                 FloatBlock<Isa, C>& b) noexcept {
  for (std::size_t c = 0; c < C; ++c) {
    Codec::template scales<Sub>(block_scales<Codec::dtype>(col[c], offset), *scales.of[c], run, col[c].column, b.s[c]);
    for_each_index<8>([&](auto g) __attribute__((always_inline)) {
      typename Isa::F w[4];
      float_codes<Isa, Codec, Sub, g()>(block_of<Isa, Codec::dtype>(col[c], offset), run, w);
      for (std::size_t i = 0; i < 4; ++i) b.w[4 * g + i][c] = w[i];
    });
  }
}

template <class Isa, class Codec, std::size_t MaxT, std::size_t C>
void f32_block_many(const TileArgs& a, const ColumnRef (&col)[C], AheadShare ahead) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  static constexpr auto functions =
      by_tokens<MaxT>([](auto t) { return &f32_block_tokens<Isa, Codec::scales_per_32, Codec::has_min, C, t()>; });
  constexpr std::size_t max_parts = (tile_tokens(Compute::f32) + MaxT - 1) / MaxT;
  FloatTokens tokens[max_parts];
  typename decltype(functions)::value_type take_up[max_parts];

  const TokenParts<MaxT> parts{a.tokens};
  const auto* x = reinterpret_cast<const float*>(a.x);
  for (std::size_t i = 0; i < parts.count; ++i) {
    const std::size_t t0 = parts.begin(i);
    take_up[i] = functions[parts.size(i) - 1];
    tokens[i] = {x + a.k0 * a.tokens + t0, x + (a.K + a.k0 / kActBlock) * a.tokens + t0, a.tokens, {}};
    for (std::size_t c = 0; c < C; ++c) tokens[i].state[c] = col[c].state + t0 * kPanelRows;
  }
  if (a.k0 == 0) {
    for (std::size_t t = 0; t < a.tokens; ++t) {
      for (std::size_t c = 0; c < C; ++c) Isa::store(col[c].state + t * kPanelRows, Isa::zero());
    }
  }
  UnpackedScales<Isa, Codec, C> scales;
  std::size_t offset = 0;
  for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
    scales.unpack(col, offset);
    for_each_sub<Codec>([&](auto run, auto sub) __attribute__((always_inline)) {
      prefetch_part<Isa, Codec, sub()>(col, offset, run);
      ahead.template step<Isa>();
      FloatBlock<Isa, C> b;
      decode_floats<Isa, Codec, sub()>(col, offset, run, scales, b);
      for (std::size_t i = 0; i < parts.count; ++i) {
        take_up[i](b, tokens[i]);
        tokens[i].x += kActBlock * a.tokens;
        tokens[i].sums += a.tokens;
      }
    });
  }
}

/// The tile function: Wide columns for up to Few tokens, whose codes are used as they become floats; for more, two
/// columns x at most MaxT tokens, for which the floats of 32 elements are kept.
template <class Isa, class Codec, std::size_t MaxT, std::size_t Wide, std::size_t Few>
void f32_block_tile(const TileArgs& a) noexcept {
  static constexpr auto few = by_tokens<Few>([](auto t) { return &f32_block_few_tile<Isa, Codec, Few, Wide, t()>; });
  if (a.tokens <= Few) return few[a.tokens - 1](a);
  walk_columns<Isa, 2, 1>(
      a, 1, [&](const auto& col, Pass pass) __attribute__((always_inline)) {
        f32_block_many<Isa, Codec, MaxT>(a, col, AheadShare(a, pass, kActBlock));
      });
}

}  // namespace
}  // namespace nibblas
