// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/codecs/codec.hpp"
#include "kernels/common/columns.hpp"
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

/// C columns with their codes and scales of 32 elements in registers.
template <class Isa, class Codec, std::size_t C>
struct DecodedColumns {
  typename Isa::I w[C][8];
  BlockScales<Isa> s[C];
};

/// Where a column's dot of part `Part` (of scales_per_32) starts: -offset * sum of its activations.
template <class Isa, class Codec, std::size_t Part>
inline typename Isa::I dot_bias(const Int8Token& x) noexcept {
  constexpr int o = Codec::offset;
  static_assert(o == 0 || o == 1 || o == 8 || o == 32 || o == 128);
  constexpr int shift = o == 1 ? -3 : o == 32 ? 2 : o == 128 ? 4 : 0;
  if constexpr (o == 0) {
    return Isa::zero_int();
  } else if constexpr (Codec::scales_per_32 == 1) {
    return Isa::template shift32<shift>(Isa::broadcast32(&x.bias));
  } else if constexpr (Part == 0) {
    return Isa::template shift32<shift>(Isa::broadcast32(&x.bias_lo));
  } else {
    return Isa::template shift32<shift>(Isa::sub32(Isa::broadcast32(&x.bias), Isa::broadcast32(&x.bias_lo)));
  }
}

/// Part `Part` of 32 elements of one token. The steps are unrolled by hand: Dots needs to know which one it is.
template <std::size_t Part, class Isa, class Codec, std::size_t C>
[[gnu::always_inline]] inline void accumulate_part(const DecodedColumns<Isa, Codec, C>& d, const std::byte* codes,
                                                   const Int8Token& x, typename Isa::F dx,
                                                   typename Isa::F (&acc)[C]) noexcept {
  constexpr int words = 8 / static_cast<int>(Codec::scales_per_32);
  typename Isa::template Dots<Codec::max_code> dots[C];
  const auto bias = dot_bias<Isa, Codec, Part>(x);
  for (std::size_t c = 0; c < C; ++c) dots[c].start(bias);
  for_each_index<words>([&](auto step) __attribute__((always_inline)) {
    constexpr std::size_t g = Part * words + step();
    const auto xw = Isa::broadcast32(codes + 4 * g);
    for (std::size_t c = 0; c < C; ++c) dots[c].template step<static_cast<int>(step())>(d.w[c][g], xw);
  });
  for (std::size_t c = 0; c < C; ++c) {
    if constexpr (has_tail_scale(Codec::dtype)) {
      acc[c] = Isa::fma(Isa::to_float(dots[c].finish()), dx, acc[c]);
    } else {
      acc[c] = Isa::fma(Isa::to_float(dots[c].finish()), Isa::mul(d.s[c].scale[Part], dx), acc[c]);
    }
  }
}

/// acc[c] of one token takes up 32 elements.
template <class Isa, class Codec, std::size_t C>
[[gnu::always_inline]] inline void accumulate(const DecodedColumns<Isa, Codec, C>& d, const std::byte* codes,
                                              const Int8Token& x, typename Isa::F (&acc)[C]) noexcept {
  const auto dx = Isa::broadcast(x.d);
  accumulate_part<0>(d, codes, x, dx, acc);
  if constexpr (Codec::scales_per_32 == 2) accumulate_part<1>(d, codes, x, dx, acc);
  if constexpr (Codec::has_min) {
    const auto dsum = Isa::broadcast(x.dsum);
    for (std::size_t c = 0; c < C; ++c) acc[c] = Isa::fnma(d.s[c].min, dsum, acc[c]);
  }
}

template <class Isa, class Codec, std::size_t Sub, std::size_t C>
[[gnu::always_inline]] inline void decode(const ColumnRef* col, std::size_t block_offset,
                                          DecodedColumns<Isa, Codec, C>& d) noexcept {
  for (std::size_t c = 0; c < C; ++c) {
    Codec::template codes<Sub>(col[c].blocks + block_offset, col[c].column, d.w[c]);
    Codec::template scales<Sub>(col[c].blocks + block_offset, col[c].column, d.s[c]);
  }
}

/// f for each 32 elements of a block: where a codec finds them is known when it compiles.
template <class Codec, class F>
[[gnu::always_inline]] inline void for_each_sub(F f) noexcept {
  for_each_index<panel_layout(Codec::dtype).block_elems / kActBlock>(f);
}

/// Asks for the lines of the block ahead that stand where this sub-block's share of the block is: spread evenly, they
/// do not fill the queue of outstanding misses.
template <class Isa, class Codec, std::size_t Sub, std::size_t C>
[[gnu::always_inline]] inline void prefetch_part(const ColumnRef (&col)[C], std::size_t offset) noexcept {
  constexpr std::size_t bytes = panel_layout(Codec::dtype).block_bytes;
  constexpr std::size_t subs = panel_layout(Codec::dtype).block_elems / kActBlock;
  constexpr std::size_t ahead = bytes * kPrefetchElems / panel_layout(Codec::dtype).block_elems;
  for (std::size_t c = 0; c < C; ++c) {
    if (C > 1 && col[c].column != 0) continue;  // once for each panel
    for (std::size_t i = Sub * bytes / subs / 64; i < ((Sub + 1) * bytes / subs + 63) / 64; ++i) {
      Isa::prefetch(col[c].blocks + offset + ahead + i * 64);
    }
  }
}

/// One token: C columns stream side by side, each decoded and used up before the next, so few registers are live.
template <class Isa, class Codec, std::size_t C>
void int8_one(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  typename Isa::F acc[C][1];
  for (std::size_t c = 0; c < C; ++c) acc[c][0] = a.k0 == 0 ? Isa::zero() : Isa::load(col[c].state);
  std::size_t offset = 0;
  for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
    for_each_sub<Codec>([&](auto sub) __attribute__((always_inline)) {
      prefetch_part<Isa, Codec, sub()>(col, offset);
      const ActBlock x = act_block(a.x, 1, k / kActBlock + sub);
      for (std::size_t c = 0; c < C; ++c) {
        DecodedColumns<Isa, Codec, 1> d;
        decode<Isa, Codec, sub()>(col + c, offset, d);
        accumulate(d, x.codes, x.token[0], acc[c]);
      }
    });
  }
  for (std::size_t c = 0; c < C; ++c) Isa::store(col[c].state, acc[c][0]);
}

/// Several tokens: decoded codes fill the registers and are used for all of them; sums live in L1. (Sums in registers
/// for 2 to 4 tokens, a function for each number, were no faster.)
template <class Isa, class Codec, std::size_t C>
void int8_many(const TileArgs& a, const ColumnRef (&col)[C]) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  if (a.k0 == 0) {
    for (std::size_t t = 0; t < a.tokens; ++t) {
      for (std::size_t c = 0; c < C; ++c) Isa::store(col[c].state + t * kPanelRows, Isa::zero());
    }
  }
  std::size_t offset = 0;
  for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, offset += layout.block_bytes) {
    for_each_sub<Codec>([&](auto sub) __attribute__((always_inline)) {
      prefetch_part<Isa, Codec, sub()>(col, offset);
      DecodedColumns<Isa, Codec, C> d;
      decode<Isa, Codec, sub()>(col, offset, d);
      const ActBlock x = act_block(a.x, a.tokens, k / kActBlock + sub);
      for (std::size_t t = 0; t < a.tokens; ++t) {
        typename Isa::F acc[C];
        for (std::size_t c = 0; c < C; ++c) acc[c] = Isa::load(col[c].state + t * kPanelRows);
        accumulate(d, x.codes + t * kActBlock, x.token[t], acc);
        for (std::size_t c = 0; c < C; ++c) Isa::store(col[c].state + t * kPanelRows, acc[c]);
      }
    });
  }
}

template <class Isa, class Codec, std::size_t C>
void int8_columns(const TileArgs& a, std::size_t first) noexcept {
  ColumnRef col[C];
  fill_columns<Isa, C>(a, first, 1, col);
  if (a.tokens == 1) {
    int8_one<Isa, Codec, C>(a, col);
  } else {
    int8_many<Isa, Codec, C>(a, col);
  }
}

/// The tile function: Narrow columns at a time share each broadcast of activations; for one token Wide columns, which
/// are distant panels that memory streams side by side.
template <class Isa, class Codec, std::size_t Narrow, std::size_t Wide>
void int8_tile(const TileArgs& a) noexcept {
  const std::size_t columns = a.n_panels * (kPanelRows / Isa::lanes);
  std::size_t c = 0;
  if (a.tokens == 1) {
    for (; c + Wide <= columns; c += Wide) {
      ColumnRef col[Wide];
      fill_columns<Isa, Wide>(a, c, 1, col);
      int8_one<Isa, Codec, Wide>(a, col);
    }
  }
  for (; c + Narrow <= columns; c += Narrow) int8_columns<Isa, Codec, Narrow>(a, c);
  if constexpr (Narrow > 1) {
    for (; c < columns; ++c) int8_columns<Isa, Codec, 1>(a, c);
  }
}

}  // namespace
}  // namespace nibblas
