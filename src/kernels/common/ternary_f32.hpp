// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/common/ternary.hpp"

// Ternary weights on f32 activations x[K][T], for any Isa, in the canonical pair order:
//   t = fma(x[k + 1], c1, x[k] * c0);  p += t per 64;  q += p per 1024 (bitnet_b158) or 256 (tq1_0, tq2_0)
// State of a (row, token): acc, and for bitnet_b158 then q.

namespace nibblas {
namespace {

inline constexpr std::size_t kTernaryGroup = 64;

constexpr std::size_t ternary_state_floats(DType t) noexcept { return has_tail_scale(t) ? 2 : 1; }

/// Byte offset of element k (a multiple of 16) in the panels of a K range that starts at k0.
template <DType W>
[[gnu::always_inline]] inline std::size_t ternary_word_offset(std::size_t k0, std::size_t k) noexcept {
  constexpr PanelLayout layout = panel_layout(W);
  constexpr std::size_t elems = layout.block_elems;
  return (k - k0) / elems * layout.block_bytes + (k - k0) % elems / kTernaryWordElems * 64;
}

/// The word of column `col` whose first element is k, and a request for what lies ahead of it.
template <class Isa, DType W>
[[gnu::always_inline]] inline typename Isa::I ternary_word(const TileArgs& a, const ColumnRef& col,
                                                           std::size_t k) noexcept {
  const std::byte* at = col.blocks + ternary_word_offset<W>(a.k0, k);
  if (col.column == 0) Isa::prefetch(at + kTernaryAhead);  // once for each panel
  return Isa::load_words(at + col.column * Isa::lanes * 4);
}

/// p of the group that ends at k_end goes to q, a full q to acc.
template <class Isa, DType W>
[[gnu::always_inline]] inline void fold_group(const TileArgs& a, const ColumnRef& col, std::size_t k_end,
                                              std::size_t token, typename Isa::F p, float* q_of_block) noexcept {
  using F = typename Isa::F;
  const std::size_t k = (k_end - 1) / kTernaryGroup * kTernaryGroup;
  float* acc = col.state + token * ternary_state_floats(W) * kPanelRows;
  if constexpr (has_tail_scale(W)) {
    float* q = acc + kPanelRows;
    F sum = Isa::add(k == 0 ? Isa::zero() : Isa::load(q), p);
    if (k_end % 1024 == 0 || k_end == a.K) {
      Isa::store(acc, Isa::add(k < 1024 ? Isa::zero() : Isa::load(acc), sum));
      sum = Isa::zero();
    }
    Isa::store(q, sum);
  } else {
    constexpr std::size_t block = panel_layout(W).block_elems;
    const F sum = Isa::add(k % block == 0 ? Isa::zero() : Isa::load(q_of_block), p);
    if (k_end % block != 0) return Isa::store(q_of_block, sum);
    const std::byte* scales = col.blocks + ternary_word_offset<W>(a.k0, k_end - block) + block / 4 * kPanelRows;
    const F d = Isa::load_f16(scales + col.column * Isa::lanes * 2);
    Isa::store(acc, Isa::fma(d, sum, k < block ? Isa::zero() : Isa::load(acc)));
  }
}

/// p[t][c] takes up a pair whose codes are c0 and c1. x: element k of the first token; the next element is
/// `tokens` further.
template <class Isa, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void add_pair(const float* x, std::size_t tokens, const typename Isa::F (&c0)[C],
                                            const typename Isa::F (&c1)[C], typename Isa::F (&p)[T][C]) noexcept {
  for_each_index<T>([&](auto t) __attribute__((always_inline)) {
    const auto x0 = broadcast_token<Isa, T, t()>(x);
    const auto x1 = broadcast_token<Isa, T, t()>(x + tokens);
    for_each_index<C>([&](auto c) __attribute__((always_inline)) {
      p[t()][c()] = Isa::add(p[t()][c()], Isa::fma(x1, c1[c()], Isa::mul(x0, c0[c()])));
    });
  });
}

/// Codes of up to 64 elements as floats.
template <class Isa, std::size_t C>
struct TernaryFloats {
  alignas(64) float c[kTernaryGroup][C][Isa::lanes];

  /// Elements [k, k + n), n rounded up to whole words.
  template <DType W>
  [[gnu::always_inline]] void decode(const TileArgs& a, const ColumnRef (&col)[C], std::size_t k,
                                     std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; i += kTernaryWordElems) {
      for (std::size_t column = 0; column < C; ++column) {
        const auto word = ternary_word<Isa, W>(a, col[column], k + i);
        for_each_index<kTernaryWordElems>([&](auto e) __attribute__((always_inline)) {
          Isa::store(c[i + e()][column], ternary_element<Isa, e()>(word));
        });
      }
    }
  }
  /// p takes up the first n elements; x as in add_pair().
  template <std::size_t T>
  [[gnu::always_inline]] void add_to(typename Isa::F (&p)[T][C], const float* x, std::size_t tokens,
                                     std::size_t n) const noexcept {
    typename Isa::F c0[C];
    typename Isa::F c1[C];
    std::size_t i = 0;
    for (; i + 2 <= n; i += 2, x += 2 * tokens) {
      for_each_index<C>([&](auto j) __attribute__((always_inline)) {
        c0[j()] = Isa::load(c[i][j()]);
        c1[j()] = Isa::load(c[i + 1][j()]);
      });
      add_pair<Isa>(x, tokens, c0, c1, p);
    }
    if (i == n) return;
    for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
      typename Isa::F& sum = p[j() / C][j() % C];
      sum = Isa::add(sum, Isa::mul(Isa::broadcast(x[j() / C]), Isa::load(c[i][j() % C])));
    });
  }
};

template <class Isa, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void clear(typename Isa::F (&p)[T][C]) noexcept {
  for_each_index<T * C>([&](auto i) __attribute__((always_inline)) { p[i() / C][i() % C] = Isa::zero(); });
}

// ---- many tokens, codes become floats in registers: little work beside that of 8 tokens ----

/// p[t][c] takes up the 16 elements of a word of each column.
template <class Isa, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void add_word(typename Isa::I (&word)[C], const float* x, std::size_t tokens,
                                            typename Isa::F (&p)[T][C]) noexcept {
  // Elements 4g .. 4g + 3 are the low bits of the four bytes, for one g after the other.
  for (int g = 0; g < 4; ++g) {
    for_each_index<2>([&](auto pair) __attribute__((always_inline)) {
      typename Isa::F c0[C];
      typename Isa::F c1[C];
      for_each_index<C>([&](auto c) __attribute__((always_inline)) {
        c0[c()] = ternary_element<Isa, 2 * pair()>(word[c()]);
        c1[c()] = ternary_element<Isa, 2 * pair() + 1>(word[c()]);
      });
      add_pair<Isa>(x, tokens, c0, c1, p);
      x += 2 * tokens;
    });
    for_each_index<C>([&](auto c) __attribute__((always_inline)) { word[c()] = Isa::template shift32<-2>(word[c()]); });
  }
}

template <class Isa, DType W>
struct TernaryInRegisters {
  template <std::size_t C, std::size_t T>
  struct Block {
    static void run(const TileArgs& a, const ColumnRef (&col)[C], std::size_t token0) noexcept {
      alignas(64) float q[T][C][Isa::lanes];
      const float* x = reinterpret_cast<const float*>(a.x) + token0;
      for (std::size_t k = a.k0; k < a.k1; k += kTernaryGroup) {
        const std::size_t n = a.k1 - k < kTernaryGroup ? a.k1 - k : kTernaryGroup;
        typename Isa::F p[T][C];
        clear<Isa>(p);
        std::size_t i = 0;
        for (; i + kTernaryWordElems <= n; i += kTernaryWordElems) {
          typename Isa::I word[C];
          for_each_index<C>([&](auto c) __attribute__((always_inline)) {
            word[c()] = ternary_word<Isa, W>(a, col[c()], k + i);
          });
          add_word<Isa>(word, x + (k + i) * a.tokens, a.tokens, p);
        }
        if (i < n) {
          TernaryFloats<Isa, C> rest;
          rest.template decode<W>(a, col, k + i, n - i);
          rest.add_to(p, x + (k + i) * a.tokens, a.tokens, n - i);
        }
        for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
          constexpr std::size_t t = j() / C;
          constexpr std::size_t c = j() % C;
          fold_group<Isa, W>(a, col[c], k + n, token0 + t, p[t][c], q[t][c]);
        });
      }
    }
  };
};

// ---- many tokens, codes of a group become floats in L1 first: where few tokens fit the registers ----

template <class Isa, DType W>
struct TernaryInCache {
  template <std::size_t C>
  struct Group {
    const TileArgs& a;
    std::size_t k;
    std::size_t n;
    TernaryFloats<Isa, C> codes;
    float (*q)[C][Isa::lanes];  ///< [tokens]
  };

  template <std::size_t C, std::size_t T>
  struct Block {
    static void run(const Group<C>& group, const ColumnRef (&col)[C], std::size_t token0) noexcept {
      const TileArgs& a = group.a;
      typename Isa::F p[T][C];
      clear<Isa>(p);
      const float* x = reinterpret_cast<const float*>(a.x) + group.k * a.tokens + token0;
      group.codes.add_to(p, x, a.tokens, group.n);
      for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
        constexpr std::size_t t = j() / C;
        constexpr std::size_t c = j() % C;
        fold_group<Isa, W>(a, col[c], group.k + group.n, token0 + t, p[t][c], group.q[token0 + t][c]);
      });
    }
  };

  template <std::size_t MaxT, std::size_t C>
  static void columns(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
    alignas(64) float q[tile_tokens(Compute::f32)][C][Isa::lanes];
    Group<C> group{a, a.k0, 0, {}, q};
    for (; group.k < a.k1; group.k += kTernaryGroup) {
      group.n = a.k1 - group.k < kTernaryGroup ? a.k1 - group.k : kTernaryGroup;
      group.codes.template decode<W>(a, col, group.k, group.n);
      for_token_parts<Block, C, MaxT>(group, a.tokens, col);
    }
  }
};

// ---- one token or a few: the codes meet x in registers ----

/// An Isa that finds one of 16 floats in one instruction turns a pair of x into the 16 values that t can take, and a
/// pair of codes into an index. Else t is computed for each row.
template <class Isa>
concept HasLookup16 = requires(typename Isa::F table, typename Isa::I index) {
  Isa::lookup16(table, index);
};

/// Pair indices of a word. Element k = 4g + 2i is bit pair g of byte 2i, the next one bit pair g of byte 2i + 1, which
/// a shift by 6 puts above it. `even` has the indices of g = 0 and 2 in nibbles, `odd` those of g = 1 and 3 across
/// them.
template <class Isa>
struct PairIndex {
  typename Isa::I even;
  typename Isa::I odd;
  [[gnu::always_inline]] void set(typename Isa::I word) noexcept {
    const auto second = Isa::template shift32<-6>(word);
    even = Isa::bit_select(Isa::bytes(0x33), word, second);
    odd = Isa::bit_select(Isa::bytes(0x33), second, word);
  }
  /// In the low four bits of each row.
  template <std::size_t Pair>
  [[gnu::always_inline]] typename Isa::I get() const noexcept {
    constexpr std::size_t g = Pair / 2;
    constexpr int bit = static_cast<int>(16 * (Pair % 2) + 2 * g);
    return Isa::template shift32<-bit>(g % 2 == 0 ? even : odd);
  }
};

alignas(64) inline constexpr float kPairFirst[16] = {-1, 0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2};
alignas(64) inline constexpr float kPairSecond[16] = {-1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};

/// p[t][c] takes up the 8 pairs of one word of each column. x[K][T].
template <class Isa, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void add_word_of_few(const typename Isa::I (&word)[C], const float* x,
                                                   typename Isa::F (&p)[T][C]) noexcept {
  if constexpr (HasLookup16<Isa>) {
    PairIndex<Isa> index[C];
    for (std::size_t c = 0; c < C; ++c) index[c].set(word[c]);
    const auto first = Isa::load(kPairFirst);
    const auto second = Isa::load(kPairSecond);
    const auto one = Isa::broadcast(1.0f);  // every other sum by the pipes that multiply, which have less to do: 5 %
    for_each_index<8>([&](auto pair) __attribute__((always_inline)) {
      typename Isa::F table[T];
      for_each_index<T>([&](auto t) __attribute__((always_inline)) {
        const auto x0 = Isa::broadcast(x[2 * pair() * T + t()]);
        const auto x1 = Isa::broadcast(x[(2 * pair() + 1) * T + t()]);
        table[t()] = Isa::fma(x1, second, Isa::mul(x0, first));
      });
      for (std::size_t c = 0; c < C; ++c) {
        const auto at = index[c].template get<pair()>();
        for_each_index<T>([&](auto t) __attribute__((always_inline)) {
          const auto sum = Isa::lookup16(table[t()], at);
          if constexpr (pair() % 2 == 0) {
            p[t()][c] = Isa::add(p[t()][c], sum);
          } else {
            p[t()][c] = Isa::fma(sum, one, p[t()][c]);
          }
        });
      }
    });
  } else {
    for_each_index<8>([&](auto pair) __attribute__((always_inline)) {
      typename Isa::F c0[C];
      typename Isa::F c1[C];
      for (std::size_t c = 0; c < C; ++c) {
        c0[c] = ternary_element<Isa, 2 * pair()>(word[c]);
        c1[c] = ternary_element<Isa, 2 * pair() + 1>(word[c]);
      }
      add_pair<Isa>(x + 2 * pair() * T, T, c0, c1, p);
    });
  }
}

template <class Isa, DType W, std::size_t T, std::size_t C>
[[gnu::always_inline]] inline void ternary_f32_few(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
  const auto* x = reinterpret_cast<const float*>(a.x);
  alignas(64) float q[T][C][Isa::lanes];
  for (std::size_t k = a.k0; k < a.k1; k += kTernaryGroup) {
    const std::size_t n = a.k1 - k < kTernaryGroup ? a.k1 - k : kTernaryGroup;
    typename Isa::F p[T][C];
    clear<Isa>(p);
    std::size_t i = 0;
    for (; i + kTernaryWordElems <= n; i += kTernaryWordElems) {
      typename Isa::I word[C];
      for (std::size_t c = 0; c < C; ++c) word[c] = ternary_word<Isa, W>(a, col[c], k + i);
      add_word_of_few<Isa>(word, x + (k + i) * T, p);
    }
    if (i < n) {
      TernaryFloats<Isa, C> rest;
      rest.template decode<W>(a, col, k + i, n - i);
      rest.add_to(p, x + (k + i) * T, T, n - i);
    }
    for_each_index<T * C>([&](auto j) __attribute__((always_inline)) {
      constexpr std::size_t t = j() / C;
      constexpr std::size_t c = j() % C;
      fold_group<Isa, W>(a, col[c], k + n, t, p[t][c], q[t][c]);
    });
  }
}

template <class Isa, DType W, std::size_t Wide, std::size_t T>
void ternary_f32_few_tile(const TileArgs& a) noexcept {
  walk_columns<Isa, Wide, 2>(
      a, ternary_state_floats(W), [&](const auto& col, Pass) __attribute__((always_inline)) {
        ternary_f32_few<Isa, W, T>(a, col);
      });
}

/// Tokens that share the indices of a pair table's entries (measured: docs/tuning.md).
template <class Isa>
constexpr std::size_t kFewTernaryTokens = HasLookup16<Isa> ? 4 : 1;

/// The tile function: Wide columns for a few tokens, or two columns x at most MaxT tokens.
template <class Isa, DType W, std::size_t MaxT, std::size_t Wide>
void ternary_f32_tile(const TileArgs& a) noexcept {
  constexpr std::size_t few = kFewTernaryTokens<Isa>;
  static constexpr auto of_few = by_tokens<few>([](auto t) { return &ternary_f32_few_tile<Isa, W, Wide, t()>; });
  if (a.tokens <= few) {
    of_few[a.tokens - 1](a);
  } else {
    walk_columns<Isa, 2, 1>(a, ternary_state_floats(W), [&](const auto& col, Pass) {
      if constexpr (MaxT >= 8) {
        for_token_parts<TernaryInRegisters<Isa, W>::template Block, kWidth<decltype(col)>, MaxT>(a, a.tokens, col);
      } else {
        TernaryInCache<Isa, W>::template columns<MaxT>(a, col);
      }
    });
  }
  if constexpr (has_tail_scale(W)) {
    if (a.k1 == a.K) scale_rows<Isa>(a, ternary_state_floats(W));
  }
}

}  // namespace
}  // namespace nibblas
