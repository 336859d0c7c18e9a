// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/codecs/codec.hpp"
#include "kernels/common/walk.hpp"
#include "nibblas/kernel.hpp"

// Integer dots of a block format with q8 activations, for any Isa and Codec, in the canonical order:
//   acc = fma(float(isum), scale * dx, acc);  acc = fma(-min, dx * float(xsum), acc)

namespace nibblas {
namespace {

/// One activation block of a tile.
struct ActBlock {
  const std::byte* codes;  ///< [T][32]
  const Int8Token* token;  ///< [T]
};

inline ActBlock act_block(const std::byte* tile, std::size_t tokens, std::size_t b) noexcept {
  const std::byte* p = tile + b * tokens * (kActBlock + sizeof(Int8Token));
  return {p, reinterpret_cast<const Int8Token*>(p + tokens * kActBlock)};
}

// ---- what an Isa may do in its own way ----

/// An Isa whose dots take signed codes has them centred where many tokens share the work, and no bias then.
template <class Isa>
concept CentresCodes = requires(typename Isa::I v) {
  Isa::template centred<1>(v);
};

/// Centred nibbles are cheaper to have 16 times too large, if the Isa's dots can undo that at no cost.
template <class Isa, class Codec>
constexpr bool kCentres16 = false;
template <class Isa, class Codec>
requires(Codec::offset == 8 && requires(typename Isa::I v) {
  Isa::template centred16<true>(v);
}) constexpr bool kCentres16<Isa, Codec> = true;

/// Code word G of the 32 as `accumulate` takes it.
template <class Isa, class Codec, std::size_t Sub, std::size_t G>
[[gnu::always_inline]] inline typename Isa::I code_word(const auto& block, auto run) noexcept {
  if constexpr (kCentres16<Isa, Codec>) {
    return Isa::template centred16<Codec::template high<Sub, G>()>(Codec::template raw<Sub, G>(block, run));
  } else if constexpr (requires { Codec::template centred_word<Sub, G>(block, run); }) {
    return Codec::template centred_word<Sub, G>(block, run);
  } else if constexpr (CentresCodes<Isa> && Codec::offset != 0) {
    return Isa::template centred<Codec::offset>(Codec::template word<Sub, G>(block, run));
  } else {
    return Codec::template word<Sub, G>(block, run);
  }
}

/// An Isa whose products take two tokens and 8 elements at once: pair_words() makes two words of consecutive elements
/// what PairDots::step() takes, x_pair() the activations.
template <class Isa>
concept PairsTokens = requires(typename Isa::I a, typename Isa::I b) {
  Isa::pair_words(a, b);
};

/// An Isa whose products take four activations from a lane of a register.
template <class Isa>
concept NamesLanes = requires(const std::byte* codes) {
  Isa::template x_word<0>(codes).x;
};

/// Activations 4G .. 4G + 3 of a token's 32, as Dots::step() takes them.
template <class Isa, std::size_t G>
[[gnu::always_inline]] inline auto x_word(const std::byte* codes) noexcept {
  if constexpr (requires { Isa::template x_word<G>(codes); }) {
    return Isa::template x_word<G>(codes);
  } else {
    return Isa::broadcast32(codes + 4 * G);
  }
}

template <class Isa>
[[gnu::always_inline]] inline auto token_scales(const Int8Token& x) noexcept {
  if constexpr (requires { Isa::token_scales(x); }) {
    return Isa::token_scales(x);
  } else {
    struct Scales {
      typename Isa::F d;
      typename Isa::F dsum;
    };
    return Scales{Isa::broadcast(x.d), Isa::broadcast(x.dsum)};
  }
}

template <class Isa, class Dots>
[[gnu::always_inline]] inline typename Isa::F finish_float(Dots& dot, typename Isa::I bias) noexcept {
  if constexpr (requires { dot.finish_float(bias); }) {
    return dot.finish_float(bias);
  } else {
    return Isa::to_float(dot.finish(bias));
  }
}

/// C columns with their codes and scales of 32 elements: in registers where they fit, else in L1.
template <class Isa, std::size_t C>
struct DecodedColumns {
  typename Isa::I w[8][C];
  BlockScales<Isa> s[C];
};

/// What a column's dot of part `Part` (of scales_per_32) has too much, negated: -offset * sum of its activations.
template <class Isa, class Codec, std::size_t Part, bool Centred = false>
[[gnu::always_inline]] inline typename Isa::I dot_bias(const Int8Token& x) noexcept {
  constexpr int o = Codec::offset;
  static_assert(o == 0 || o == 1 || o == 8 || o == 32 || o == 128);
  constexpr int shift = o == 1 ? -3 : o == 32 ? 2 : o == 128 ? 4 : 0;
  if constexpr (o == 0 || Centred) {
    return Isa::zero_int();
  } else if constexpr (Codec::scales_per_32 == 1) {
    return Isa::template shift32<shift>(Isa::broadcast32(&x.bias));
  } else if constexpr (Part == 0) {
    return Isa::template shift32<shift>(Isa::broadcast32(&x.bias_lo));
  } else {
    return Isa::template shift32<shift>(Isa::sub32(Isa::broadcast32(&x.bias), Isa::broadcast32(&x.bias_lo)));
  }
}

template <class Isa, class Codec>
using CodecDots = typename Isa::template Dots<Codec::max_code, 8 / static_cast<int>(Codec::scales_per_32)>;

/// Dots of code_word().
template <class Isa, class Codec>
constexpr auto many_dots() noexcept {
  if constexpr (kCentres16<Isa, Codec>) {
    return std::type_identity<typename Isa::template Dots16<8 / static_cast<int>(Codec::scales_per_32)>>{};
  } else {
    return std::type_identity<CodecDots<Isa, Codec>>{};
  }
}
template <class Isa, class Codec>
using ManyDots = typename decltype(many_dots<Isa, Codec>())::type;

/// acc takes up the dot of one part.
template <std::size_t Part, class Isa, class Codec>
[[gnu::always_inline]] inline void add_sum(typename Isa::F sum, const Int8Token& x, const BlockScales<Isa>& s,
                                           typename Isa::F& acc) noexcept {
  const auto token = token_scales<Isa>(x);
  if constexpr (has_tail_scale(Codec::dtype)) {
    acc = Isa::fma(sum, token.d, acc);
  } else {
    acc = Isa::fma(sum, Isa::mul(s.scale[Part], token.d), acc);
  }
  if constexpr (Codec::has_min && Part + 1 == Codec::scales_per_32) {
    acc = Isa::fnma(s.min, token.dsum, acc);
  }
}

template <std::size_t Part, class Isa, class Codec, bool Centred, class Dots>
[[gnu::always_inline]] inline void add_dot(Dots& dot, const Int8Token& x, const BlockScales<Isa>& s,
                                           typename Isa::F& acc) noexcept {
  add_sum<Part, Isa, Codec>(finish_float<Isa>(dot, dot_bias<Isa, Codec, Part, Centred>(x)), x, s, acc);
}

/// T tokens x C columns take up 32 elements. The steps are unrolled: Dots needs to know which one it is, and may want
/// `group` of them one after the other.
template <class Isa, class Codec, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void accumulate(const DecodedColumns<Isa, C>& d, const std::byte* codes,
                                              const Int8Token* x, typename Isa::F (&acc)[T][C]) noexcept {
  using Dots = ManyDots<Isa, Codec>;
  constexpr std::size_t words = 8 / Codec::scales_per_32;
  constexpr bool centred = CentresCodes<Isa>;
  for_each_index<Codec::scales_per_32>([&](auto part) __attribute__((always_inline)) {
    Dots dots[T][C];
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t c = 0; c < C; ++c) dots[t][c].start(dot_bias<Isa, Codec, part(), centred>(x[t]));
    }
    for_each_index<words / Dots::group>([&](auto turn) __attribute__((always_inline)) {
      for (std::size_t t = 0; t < T; ++t) {
        for_each_index<Dots::group>([&](auto i) __attribute__((always_inline)) {
          constexpr std::size_t step = turn * Dots::group + i;
          constexpr std::size_t g = part * words + step;
          const auto xw = x_word<Isa, g>(codes + t * kActBlock);
          for (std::size_t c = 0; c < C; ++c) dots[t][c].template step<static_cast<int>(step)>(d.w[g][c], xw);
        });
      }
    });
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t c = 0; c < C; ++c) add_dot<part(), Isa, Codec, centred>(dots[t][c], x[t], d.s[c], acc[t][c]);
    }
  });
}

/// The same of T tokens in pairs, with words that are pairs; a token without another is its own.
template <class Isa, class Codec, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void accumulate_pairs(const DecodedColumns<Isa, C>& d, const std::byte* codes,
                                                    const Int8Token* x, typename Isa::F (&acc)[T][C]) noexcept {
  using Dots = typename Isa::template PairDots<ManyDots<Isa, Codec>>;
  constexpr std::size_t words = 8 / Codec::scales_per_32;
  for_each_index<Codec::scales_per_32>([&](auto part) __attribute__((always_inline)) {
    Dots dots[(T + 1) / 2][C];
    for (auto& pair : dots) {
      for (Dots& dot : pair) dot.start();
    }
    for_each_index<words / 2>([&](auto step) __attribute__((always_inline)) {
      constexpr std::size_t g = part * words + 2 * step;
      for (std::size_t t = 0; t < T; t += 2) {
        const auto xw = Isa::template x_pair<g>(codes + t * kActBlock, codes + std::min(t + 1, T - 1) * kActBlock);
        for (std::size_t c = 0; c < C; ++c) dots[t / 2][c].step(d.w[g][c], d.w[g + 1][c], xw);
      }
    });
    for_each_index<T>([&](auto t) __attribute__((always_inline)) {
      for (std::size_t c = 0; c < C; ++c) {
        auto dot = dots[t / 2][c].template token<t % 2>();
        add_dot<part(), Isa, Codec, true>(dot, x[t], d.s[c], acc[t][c]);
      }
    });
  });
}

/// One token, 32 elements, C columns: each code is decoded and used up at once, a broadcast of x
/// serves them all.
template <class Isa, class Codec, std::size_t Sub, std::size_t C>
[[gnu::always_inline]] inline void accumulate_one(const ColumnRef (&col)[C], std::size_t offset, auto run,
                                                  const typename Codec::Unpacked* const (&unpacked)[C],
                                                  const ActBlock& x, typename Isa::F* acc) noexcept {
  constexpr std::size_t words = 8 / Codec::scales_per_32;
  for_each_index<Codec::scales_per_32>([&](auto part) __attribute__((always_inline)) {
    CodecDots<Isa, Codec> dots[C];
    for (std::size_t c = 0; c < C; ++c) dots[c].start(dot_bias<Isa, Codec, part()>(x.token[0]));
    for_each_index<words>([&](auto step) __attribute__((always_inline)) {
      constexpr std::size_t g = part * words + step;
      const auto xw = x_word<Isa, g>(x.codes);
      for (std::size_t c = 0; c < C; ++c) {
        dots[c].template step<static_cast<int>(step())>(
            Codec::template word<Sub, g>(block_of<Isa, Codec::dtype>(col[c], offset), run), xw);
      }
    });
    for (std::size_t c = 0; c < C; ++c) {
      BlockScales<Isa> s;
      Codec::template scales<Sub>(block_scales<Codec::dtype>(col[c], offset), *unpacked[c], run, col[c].column, s);
      add_dot<part(), Isa, Codec, false>(dots[c], x.token[0], s, acc[c]);
    }
  });
}

/// accumulate_one() of columns First .. First + C of the whole panels that begin at col[0]. Said so that the distances
/// of a panel's columns are constants.
template <class Isa, class Codec, std::size_t Sub, std::size_t First, std::size_t C>
[[gnu::always_inline]] inline void accumulate_one_of(const ColumnRef* col, std::size_t offset, auto run,
                                                     const typename Codec::Unpacked* const* unpacked, const ActBlock& x,
                                                     typename Isa::F* acc) noexcept {
  constexpr std::size_t per_panel = kPanelRows / Isa::lanes;
  ColumnRef beside[C];
  const typename Codec::Unpacked* scales[C];
  for (std::size_t c = 0; c < C; ++c) {
    const std::size_t panel = (First + c) / per_panel * per_panel;
    beside[c] = {col[panel].blocks, (First + c) % per_panel, nullptr};
    scales[c] = unpacked[panel];
  }
  accumulate_one<Isa, Codec, Sub>(beside, offset, run, scales, x, acc + First);
}

template <class Isa, class Codec, std::size_t Sub, std::size_t C>
[[gnu::always_inline]] inline void decode(const ColumnRef* col, std::size_t offset, auto run,
                                          const typename Codec::Unpacked* const* unpacked,
                                          DecodedColumns<Isa, C>& d) noexcept {
  for (std::size_t c = 0; c < C; ++c) {
    for_each_index<8>([&](auto g) __attribute__((always_inline)) {
      d.w[g][c] = code_word<Isa, Codec, Sub, g()>(block_of<Isa, Codec::dtype>(col[c], offset), run);
    });
    Codec::template scales<Sub>(block_scales<Codec::dtype>(col[c], offset), *unpacked[c], run, col[c].column, d.s[c]);
  }
}

/// A block of C columns, `together` at a time.
template <class Isa, class Codec, std::size_t Ahead, std::size_t together, std::size_t C>
[[gnu::always_inline]] inline void block_of_one(const TileArgs& a, const ColumnRef (&col)[C], std::size_t k,
                                                std::size_t offset, UnpackedScales<Isa, Codec, C>& scales,
                                                typename Isa::F (&acc)[C][1][1]) noexcept {
  constexpr std::size_t per_panel = kPanelRows / Isa::lanes;
  constexpr std::size_t step = C % per_panel == 0 ? std::max(together, per_panel) : C;
  scales.unpack(col, offset);
  for_each_sub<Codec, true>([&](auto run, auto sub) __attribute__((always_inline)) {
    prefetch_run<Isa, Codec, sub(), Ahead>(col, offset, run);
    const ActBlock x = act_block(a.x, 1, k / kActBlock + sub_index<Codec>(run, sub));
#pragma GCC unroll 1
    for (std::size_t c = 0; c < C; c += step) {
      // Loaded once for all columns, x would be broadcast to eight registers in place of two with lanes.
      if constexpr (NamesLanes<Isa>) forget_loads();
      if constexpr (together == 1) {
        DecodedColumns<Isa, 1> d;
        decode<Isa, Codec, sub(), 1>(col + c, offset, run, scales.of + c, d);
        accumulate<Isa, Codec, 1, 1>(d, x.codes, x.token, acc[c]);
      } else if constexpr (C % per_panel == 0) {
        for_each_index<step / together>([&](auto i) __attribute__((always_inline)) {
          accumulate_one_of<Isa, Codec, sub(), i * together, together>(col + c, offset, run, scales.of + c, x,
                                                                       &acc[c][0][0]);
        });
      } else {
        static_assert(together == C);
        accumulate_one<Isa, Codec, sub()>(col, offset, run, scales.of, x, &acc[0][0][0]);
      }
    }
  });
}

/// One token: C columns stream side by side. Four at once hide the dots' latency of the simple formats. The scales of
/// the others are as much work as the dots: a panel's columns from each of two streams (q6_k on AVX-512 from L2: 92
/// against 62 GB/s one after the other; q4_k on AVX2 45 against 41); of columns of four rows, two (more do not fit the
/// registers: q6_k on Neoverse N1, modelled, 0.62 cycles a byte with eight against 0.25). Two small blocks
/// are unrolled: the loads then move by whole lines (q4_0 on AVX-512 from memory: 0.84 to 0.89 of the bandwidth). That
/// is a loop of its own, as gcc 12 unrolls only by a number that no template parameter decides.
template <class Isa, class Codec, std::size_t C>
void int8_one(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  constexpr bool simple = layout.block_elems == kActBlock || (Isa::lanes == 4 && Codec::max_code == 3);
  constexpr std::size_t together =
      simple ? std::min<std::size_t>(C, 4) : std::min<std::size_t>(C, Isa::lanes == 4 ? 2 : 32 / Isa::lanes);
  constexpr std::size_t ahead = layout.block_elems == 256 && C == 1 ? 768 : prefetch_elems(layout);
  typename Isa::F acc[C][1][1];
  for (std::size_t c = 0; c < C; ++c) acc[c][0][0] = a.k0 == 0 ? Isa::zero() : Isa::load(col[c].state);
  UnpackedScales<Isa, Codec, C> scales;
  std::size_t offset = 0;
  if constexpr (layout.block_bytes < 512) {
#pragma GCC unroll 2
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
      block_of_one<Isa, Codec, ahead, together>(a, col, k, offset, scales, acc);
    }
  } else {
    for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
      block_of_one<Isa, Codec, ahead, together>(a, col, k, offset, scales, acc);
    }
  }
  for (std::size_t c = 0; c < C; ++c) Isa::store(col[c].state, acc[c][0][0]);
}

/// T tokens of a tile take up 32 elements; their sums live in L1.
template <class Isa, class Codec, std::size_t C, std::size_t T>
[[gnu::always_inline]] inline void accumulate_state(const DecodedColumns<Isa, C>& d, const ActBlock& x, std::size_t t0,
                                                    const ColumnRef (&col)[C]) noexcept {
  typename Isa::F acc[T][C];
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t c = 0; c < C; ++c) acc[t][c] = Isa::load(col[c].state + (t0 + t) * kPanelRows);
  }
  if constexpr (PairsTokens<Isa>) {
    accumulate_pairs<Isa, Codec, C, T>(d, x.codes + t0 * kActBlock, x.token + t0, acc);
  } else {
    accumulate<Isa, Codec, C, T>(d, x.codes + t0 * kActBlock, x.token + t0, acc);
  }
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t c = 0; c < C; ++c) Isa::store(col[c].state + (t0 + t) * kPanelRows, acc[t][c]);
  }
}

/// Several tokens: codes of C columns are decoded once and used for all of them, T at a time.
template <class Isa, class Codec, std::size_t T, std::size_t C>
void int8_many(const TileArgs& a, const ColumnRef (&col)[C], AheadShare ahead) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  const std::size_t tokens = a.tokens;  // stores to the state might change a.tokens, as far as compilers know
  if (a.k0 == 0) {
    for (std::size_t t = 0; t < tokens; ++t) {
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
      DecodedColumns<Isa, C> d;
      decode<Isa, Codec, sub(), C>(col, offset, run, scales.of, d);
      if constexpr (PairsTokens<Isa>) {
        for (std::size_t g = 0; g < 8; g += 2) {
          for (std::size_t c = 0; c < C; ++c) Isa::pair_words(d.w[g][c], d.w[g + 1][c]);
        }
      }
      const ActBlock x = act_block(a.x, tokens, k / kActBlock + sub_index<Codec>(run, sub));
      std::size_t t = 0;
      for (; t + T <= tokens; t += T) accumulate_state<Isa, Codec, C, T>(d, x, t, col);
      if constexpr (T > 1) {
        for (; t < tokens; ++t) accumulate_state<Isa, Codec, C, 1>(d, x, t, col);
      }
    });
  }
}

/// The tile function: C columns x T tokens share their loads; for one token Wide columns, which
/// are distant panels that memory streams side by side.
template <class Isa, class Codec, std::size_t C, std::size_t T, std::size_t Wide>
void int8_tile(const TileArgs& a) noexcept {
  for_columns<Isa, C, Wide>(
      a, 1, [&](const auto& col) __attribute__((always_inline)) { int8_one<Isa, Codec>(a, col); },
      [&](const auto& col, Pass pass)
          __attribute__((always_inline)) { int8_many<Isa, Codec, T>(a, col, AheadShare(a, pass, kActBlock)); });
}

}  // namespace
}  // namespace nibblas
