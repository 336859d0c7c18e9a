// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/common/int8.hpp"
#include "kernels/common/ternary.hpp"

// Ternary weights on one token's int8 activations, for any Isa: columns of distant panels stream side by side, and the
// work on each word has to fit into the time in which memory delivers it.

namespace nibblas {
namespace {

/// Sums of dots of 2-bit codes where they lie: of a word's four bit pairs, two are used as they are and two after one
/// shift. The sums of the pairs that are not at the bottom of a nibble are four times too large until finish().
template <class Isa>
struct InPlaceDots {
  using I = typename Isa::I;
  using Low = typename Isa::template LoopDots<kTernaryMaxCode>;
  using High = typename Isa::template LoopDots<4 * kTernaryMaxCode>;
  static constexpr std::size_t steps_per_block = kActBlock / 4 / 2;  // of each sum
  /// Blocks of 32 whose dots are unrolled, which the sums must hold. Not more than two: a loop of eight, with loads of
  /// as many addresses in the code, read memory a fifth slower, as if the hardware followed strides by instruction.
  static constexpr std::size_t max_blocks =
      std::min<std::size_t>(2, std::min(Low::max_steps, High::max_steps) / steps_per_block);
  static_assert(max_blocks >= 1, "a block of 32 must fit the sums");

  Low low;
  High high;
  [[gnu::always_inline]] void start() noexcept {
    low.start();
    high.start();
  }
  /// Elements 4G .. 4G + 3 of a word.
  template <std::size_t G, class X>
  [[gnu::always_inline]] void step(I word, X x) noexcept {
    if constexpr (G >= 2) word = Isa::template shift_right16<4>(word);
    if constexpr (G % 2 == 0) {
      low.step(Isa::bit_and(word, Isa::bytes(kTernaryMaxCode)), x);
    } else {
      high.step(Isa::bit_and(word, Isa::bytes(4 * kTernaryMaxCode)), x);
    }
  }
  [[gnu::always_inline]] I finish() const noexcept {
    if constexpr (requires { low.finish_with_quarter(high); }) {
      return low.finish_with_quarter(high);
    } else {
      return Isa::add32(low.finish(), Isa::template shift32<-2>(high.finish()));
    }
  }
};

/// A single token's activation blocks.
inline constexpr std::size_t kOneTokenBlock = kActBlock + sizeof(Int8Token);

/// isum[c] += dots of Blocks x 32 elements. The blocks begin at `offset`, x at the first of the activations.
template <class Isa, std::size_t Blocks, std::size_t C>
[[gnu::always_inline]] inline void ternary_dots_together(const ColumnRef* col, std::size_t offset, const std::byte* x,
                                                         typename Isa::I* isum) noexcept {
  using I = typename Isa::I;
  static_assert(Blocks <= InPlaceDots<Isa>::max_blocks);
  InPlaceDots<Isa> dots[C];
  for_each_index<C>([&](auto c) __attribute__((always_inline)) { dots[c()].start(); });
  for_each_index<2 * Blocks>([&](auto j) __attribute__((always_inline)) {
    I word[C];
    for_each_index<C>([&](auto c) __attribute__((always_inline)) {
      const std::byte* at = col[c()].blocks + offset + j() * 64;
      if (col[c()].column == 0) Isa::prefetch(at + kTernaryAhead);  // once for each panel
      word[c()] = Isa::load_words(at + col[c()].column * Isa::lanes * 4);
    });
    for_each_index<4>([&](auto g) __attribute__((always_inline)) {
      const auto xg = x_word<Isa, 4 * (j() % 2) + g()>(x + j() / 2 * kOneTokenBlock);
      for_each_index<C>([&](auto c) __attribute__((always_inline)) { dots[c()].template step<g()>(word[c()], xg); });
    });
  });
  for_each_index<C>([&](auto c)
                        __attribute__((always_inline)) { isum[c()] = Isa::add32(isum[c()], dots[c()].finish()); });
}

/// The same for all columns, four at a time: with AVX2 the sums of eight do not fit the registers.
template <class Isa, std::size_t Blocks, std::size_t C>
[[gnu::always_inline]] inline void ternary_dots_of_one(const ColumnRef (&col)[C], std::size_t offset,
                                                       const std::byte* x, typename Isa::I (&isum)[C]) noexcept {
  constexpr std::size_t together = std::min<std::size_t>(C, 4);
  static_assert(C % together == 0);
#pragma GCC unroll 1
  for (std::size_t c = 0; c < C; c += together) {
    ternary_dots_together<Isa, Blocks, together>(col + c, offset, x, isum + c);
  }
}

/// -1 * sum of n blocks' codes: what codes with offset 1 have too much.
inline std::int32_t bias_of_one(const std::byte* x, std::size_t n) noexcept {
  std::int32_t sum = 0;
  for (std::size_t b = 0; b < n; ++b) sum += act_block(x, 1, b).token[0].bias;
  return sum / 8;
}

// ---- int8_token, one scale per row: one int32 sum over all K, kept in the bits of the state between K ranges ----

template <class Isa>
struct TensorTokenOfOne {
  /// range_bias: of the K range.
  template <std::size_t C>
  [[gnu::always_inline]] static void run(const TileArgs& a, std::int32_t range_bias,
                                         const ColumnRef (&col)[C]) noexcept {
    using I = typename Isa::I;
    constexpr std::size_t together = InPlaceDots<Isa>::max_blocks;
    const ActBlock x = act_block(a.x, 1, a.k0 / kActBlock);
    const std::size_t blocks = panel_layout(DType::bitnet_b158).blocks(a.k1) - a.k0 / kActBlock;
    const I bias = Isa::broadcast32(&range_bias);
    I isum[C];
    for_each_index<C>([&](auto c) __attribute__((always_inline)) {
      const auto* state = reinterpret_cast<const std::byte*>(col[c()].state);
      isum[c()] = a.k0 == 0 ? bias : Isa::add32(Isa::load_words(state), bias);
    });
    std::size_t b = 0;
    for (; b + together <= blocks; b += together) {
      ternary_dots_of_one<Isa, together>(col, b * kTernaryBlockBytes, x.codes + b * kOneTokenBlock, isum);
    }
    for (; b < blocks; ++b) {
      ternary_dots_of_one<Isa, 1>(col, b * kTernaryBlockBytes, x.codes + b * kOneTokenBlock, isum);
    }
    const auto dx = Isa::broadcast(x.token[0].d);
    for_each_index<C>([&](auto c) __attribute__((always_inline)) {
      const ColumnRef& r = col[c()];
      if (a.k1 != a.K) return Isa::store_words(reinterpret_cast<std::byte*>(r.state), isum[c()]);
      const std::byte* scales = r.blocks + blocks * kTernaryBlockBytes + r.column * Isa::lanes * 4;
      const auto scale = Isa::load(reinterpret_cast<const float*>(scales));
      Isa::store(r.state, Isa::mul(Isa::to_float(isum[c()]), Isa::mul(scale, dx)));
    });
  }
};

// ---- a float sum over scaled integer sums ----

/// Floats that a column's state holds between K ranges.
template <class Isa, std::size_t C>
[[gnu::always_inline]] inline void load_state(const TileArgs& a, const ColumnRef (&col)[C],
                                              typename Isa::F (&acc)[C]) noexcept {
  for_each_index<C>([&](auto c) __attribute__((always_inline)) {
    acc[c()] = a.k0 == 0 ? Isa::zero() : Isa::load(col[c()].state);
  });
}
/// Scales of a super-block.
template <class Isa, std::size_t C>
[[gnu::always_inline]] inline void load_block_scales(const ColumnRef (&col)[C], std::size_t offset,
                                                     typename Isa::F (&d)[C]) noexcept {
  constexpr std::size_t codes = panel_layout(DType::tq2_0).block_elems / kActBlock * kTernaryBlockBytes;
  for_each_index<C>([&](auto c) __attribute__((always_inline)) {
    d[c()] = Isa::load_f16(col[c()].blocks + offset + codes + col[c()].column * Isa::lanes * 2);
  });
}
template <class Isa, std::size_t C>
[[gnu::always_inline]] inline void store_state(const ColumnRef (&col)[C], const typename Isa::F (&acc)[C]) noexcept {
  for_each_index<C>([&](auto c) __attribute__((always_inline)) { Isa::store(col[c()].state, acc[c()]); });
}

/// What the words of a super-block do not ask for: the last bytes of the block ahead, in one or two lines.
template <class Isa, std::size_t C>
[[gnu::always_inline]] inline void prefetch_block_end(const ColumnRef (&col)[C], std::size_t offset) noexcept {
  constexpr std::size_t codes = 8 * kTernaryBlockBytes;
  for_each_index<C>([&](auto c) __attribute__((always_inline)) {
    if (col[c()].column != 0) return;
    const std::byte* end = col[c()].blocks + offset + codes + kTernaryAhead;
    Isa::prefetch(end);
    Isa::prefetch(end + panel_layout(DType::tq2_0).block_bytes - codes);
  });
}

/// int8_token, a scale per 256: acc = fma(float(isum), d * dx, acc).
template <class Isa>
struct BlockTokenOfOne {
  template <std::size_t C>
  [[gnu::always_inline]] static void run(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
    constexpr PanelLayout layout = panel_layout(DType::tq2_0);
    constexpr std::size_t blocks = layout.block_elems / kActBlock;
    constexpr std::size_t together = InPlaceDots<Isa>::max_blocks;
    static_assert(blocks % together == 0);
    typename Isa::F acc[C];
    load_state<Isa>(a, col, acc);
    std::size_t offset = 0;
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
      const ActBlock x = act_block(a.x, 1, k / kActBlock);
      const std::int32_t bias = bias_of_one(x.codes, blocks);
      typename Isa::I isum[C];
      for_each_index<C>([&](auto c) __attribute__((always_inline)) { isum[c()] = Isa::broadcast32(&bias); });
      for (std::size_t b = 0; b < blocks; b += together) {
        ternary_dots_of_one<Isa, together>(col, offset + b * kTernaryBlockBytes, x.codes + b * kOneTokenBlock, isum);
      }
      prefetch_block_end<Isa>(col, offset);
      const auto dx = Isa::broadcast(x.token[0].d);
      typename Isa::F d[C];
      load_block_scales<Isa>(col, offset, d);
      for_each_index<C>([&](auto c) __attribute__((always_inline)) {
        acc[c()] = Isa::fma(Isa::to_float(isum[c()]), Isa::mul(d[c()], dx), acc[c()]);
      });
    }
    store_state<Isa>(col, acc);
  }
};

/// int8: acc takes up each 32 elements; y = acc * scale where the scale is the row's.
template <class Isa, DType W>
struct ScaledOfOne {
  template <std::size_t C>
  [[gnu::always_inline]] static void run(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
    constexpr PanelLayout layout = panel_layout(W);
    constexpr std::size_t blocks = layout.block_elems / kActBlock;
    typename Isa::F acc[C];
    load_state<Isa>(a, col, acc);
    std::size_t offset = 0;
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
      typename Isa::F d[C];
      if constexpr (!has_tail_scale(W)) load_block_scales<Isa>(col, offset, d);
#pragma GCC unroll 1
      for (std::size_t b = 0; b < blocks; ++b) {
        const ActBlock x = act_block(a.x, 1, k / kActBlock + b);
        typename Isa::I isum[C];
        for_each_index<C>([&](auto c) __attribute__((always_inline)) {
          isum[c()] = dot_bias<Isa, Ternary<Isa, W>, 0>(x.token[0]);
        });
        ternary_dots_of_one<Isa, 1>(col, offset + b * kTernaryBlockBytes, x.codes, isum);
        const auto dx = Isa::broadcast(x.token[0].d);
        for_each_index<C>([&](auto c) __attribute__((always_inline)) {
          const auto sum = Isa::to_float(isum[c()]);
          if constexpr (has_tail_scale(W)) {
            acc[c()] = Isa::fma(sum, dx, acc[c()]);
          } else {
            acc[c()] = Isa::fma(sum, Isa::mul(d[c()], dx), acc[c()]);
          }
        });
      }
      if constexpr (!has_tail_scale(W)) prefetch_block_end<Isa>(col, offset);
    }
    store_state<Isa>(col, acc);
  }
};

}  // namespace
}  // namespace nibblas
