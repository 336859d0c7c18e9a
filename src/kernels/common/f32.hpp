// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/common/walk.hpp"
#include "nibblas/kernel.hpp"

// f32, f16 and bf16 weights on f32 activations x[K][T], for any Isa, in the canonical order: p per 64 elements, q per
// 1024, acc. State of a (row, token): acc, then q.

namespace nibblas {
namespace {

/// Weight k of each row.
template <class Isa, DType W>
[[gnu::always_inline]] inline typename Isa::F load_weights(const std::byte* p) noexcept {
  if constexpr (W == DType::f32) return Isa::load(reinterpret_cast<const float*>(p));
  if constexpr (W == DType::f16) return Isa::load_f16(p);
  if constexpr (W == DType::bf16) return Isa::load_bf16(p);
}

/// How the sum p of elements [k, end), at most 64, joins the state, 16 floats acc, then 16 floats q.
struct Fold {
  bool first;  ///< nothing was added to q before
  bool last;   ///< q joins acc
  bool fresh;  ///< nothing was added to acc before

  Fold(std::size_t k, std::size_t end, std::size_t K) noexcept
      : first(k == 0), last(end % 1024 == 0 || end == K), fresh(k < 1024) {}
  bool plain() const noexcept { return !first && !last; }
};

/// Plain folds, which most are, have no branches: with them for each sum the tile took 3 to 4 % longer.
template <class Isa, bool Plain>
[[gnu::always_inline]] inline void fold_floats(typename Isa::F p, Fold f, float* acc) noexcept {
  float* q = acc + kPanelRows;
  if constexpr (Plain) return Isa::store(q, Isa::add(Isa::load(q), p));
  auto sum = Isa::add(f.first ? Isa::zero() : Isa::load(q), p);
  if (f.last) {
    Isa::store(acc, Isa::add(f.fresh ? Isa::zero() : Isa::load(acc), sum));
    sum = Isa::zero();
  }
  Isa::store(q, sum);
}

/// C columns x T tokens; T * C sums and C weights are in registers, a broadcast serves C columns.
template <class Isa, DType W, std::size_t C, std::size_t T>
void float_block(const TileArgs& a, const ColumnRef (&col)[C], std::size_t token0, AheadShare ahead) noexcept {
  using F = typename Isa::F;
  constexpr std::size_t k_bytes = panel_layout(W).block_bytes;
  constexpr std::size_t column_bytes = k_bytes / kPanelRows * Isa::lanes;
  const auto* x = reinterpret_cast<const float*>(a.x) + token0;
  const std::size_t tokens = a.tokens;  // stores to the state might change a.tokens, as far as compilers know
  for (std::size_t k = a.k0; k < a.k1; k += 64) {
    const std::size_t n = std::min<std::size_t>(64, a.k1 - k);
    auto [line, by] = ahead.spread(64, a.x);
    F p[T][C];
    for_each_index<T * C>([&](auto i) __attribute__((always_inline)) { p[i() / C][i() % C] = Isa::zero(); });
    const std::byte* w[C];
    for (std::size_t c = 0; c < C; ++c) w[c] = col[c].blocks + (k - a.k0) * k_bytes + col[c].column * column_bytes;
    for (std::size_t i = 0; i < n; ++i) {
      F wk[C];
      for (std::size_t c = 0; c < C; ++c) {
        wk[c] = load_weights<Isa, W>(w[c] + i * k_bytes);
        // One line a step at the most: f16 steps are half a line, a second column of the panel shares it.
        if (Isa::lanes == kPanelRows || col[c].column == 0) Isa::prefetch(w[c] + i * k_bytes + kPrefetchAhead);
      }
      if constexpr (T > 1) {
        Isa::prefetch(line);
        line += by;
      }
      const float* xk = x + (k + i) * tokens;
      for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
        constexpr std::size_t t = j() / C;
        constexpr std::size_t c = j() % C;
        p[t][c] = Isa::fma(broadcast_token<Isa, T, t>(xk), wk[c], p[t][c]);
      });
    }
    const Fold how(k, k + n, a.K);
    const auto fold = [&](auto plain) __attribute__((always_inline)) {
      for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
        constexpr std::size_t t = j() / C;
        constexpr std::size_t c = j() % C;
        fold_floats<Isa, plain()>(p[t][c], how, col[c].state + (token0 + t) * 2 * kPanelRows);
      });
    };
    if (how.plain()) {
      fold(std::true_type{});
    } else {
      fold(std::false_type{});
    }
  }
}

/// The tile function: two columns x at most MaxT tokens, or Wide columns for a single token.
template <class Isa, DType W, std::size_t MaxT, std::size_t Wide>
void float_tile(const TileArgs& a) noexcept {
  const TokenParts<MaxT> parts{a.tokens};
  for_columns<Isa, 2, Wide>(
      a, 2,
      [&](const auto& col)
          __attribute__((always_inline)) { float_block<Isa, W, kWidth<decltype(col)>, 1>(a, col, 0, AheadShare{}); },
      [&](const auto& col, Pass pass) __attribute__((always_inline)) {
        constexpr std::size_t C = kWidth<decltype(col)>;
        static constexpr auto blocks = by_tokens<MaxT>([](auto t) { return &float_block<Isa, W, C, t()>; });
        for (std::size_t i = 0; i < parts.count; ++i) {
          blocks[parts.size(i) - 1](a, col, parts.begin(i), AheadShare(a, parts.pass(pass, i), 64));
        }
      });
}

}  // namespace
}  // namespace nibblas
