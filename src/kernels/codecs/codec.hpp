// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/codecs/segments.hpp"
#include "nibblas/panel.hpp"

// A codec knows where a block keeps its codes and scales, and nothing of registers or loops: Isa supplies the
// operations. A *column* is Isa::lanes rows of a panel, a *run* is what repeats along a block: the codes of one are
// found like those of the next. `Sub` counts the 32 elements of a run that are asked for, `G` the four of the 32 that
// make a word. `block` is where the codes are: its words<S>(i) are word i of each row in segment S (segments.hpp).
// `scales` are the segments after the codes, as they lie in a panel.
//
//   dtype           the format
//   run_elems       32, 64 or 128
//   scales_per_32   1, or 2 where a scale covers 16 elements
//   has_min         a minimum is subtracted (q4_k, q5_k)
//   max_code        largest unsigned code any byte pattern gives, or -128 for signed codes
//   offset          what an unsigned code has too much; the dot starts at -offset * sum(x)
//   word<Sub, G>()  codes of k = 4G .. 4G + 3 of each row, a byte each
//   Unpacked        what unpack<Isa>(scales) makes of a block's scales, once for all sub-blocks and columns
//   scales<Sub>()   scale (and min) of each row, f32
//
// and a codec of nibbles says where they are before they are masked:
//   raw<Sub, G>()   the word they are in, in the low or high nibbles of its bytes:
//   high<Sub, G>()  which

namespace nibblas {
namespace {

/// A column of a panel's block.
template <class Isa, DType T>
struct PanelBlock {
  const std::byte* at;  ///< its first row's first word

  template <std::size_t Segment>
  [[gnu::always_inline]] typename Isa::I words(std::size_t i) const noexcept {
    return Isa::load_words(at + segment_start<T>(Segment) + i * 64);
  }
};

template <class Isa>
struct BlockScales {
  typename Isa::F scale[2];
  typename Isa::F min;
};

template <class Isa>
[[gnu::always_inline]] inline void load_halves(const std::byte* halves, float (&out)[kPanelRows]) noexcept {
  for (std::size_t r = 0; r < kPanelRows; r += Isa::lanes) Isa::store(out + r, Isa::load_f16(halves + 2 * r));
}

/// The f16 scales of 16 rows, at Offset among the scales of a block.
template <std::size_t Offset>
struct RowScales {
  alignas(64) float d[kPanelRows];

  template <class Isa>
  [[gnu::always_inline]] void unpack(const std::byte* scales) noexcept {
    load_halves<Isa>(scales + Offset, d);
  }
};

/// Of formats whose scales are used as they lie.
struct NothingUnpacked {
  template <class Isa>
  [[gnu::always_inline]] void unpack(const std::byte*) noexcept {}
};

/// An Isa that shifts bytes takes the high nibbles without a mask.
template <class Isa>
concept ShiftsBytes = requires(typename Isa::I v) {
  Isa::template nibbles<true>(v);
};

/// An Isa that shifts bytes into each other: insert_high() is (low & 15) | (high << 4), insert_low() (low >> 4) | (high
/// & 0xf0), shift8() a shift of bytes by N, to the right where N < 0.
template <class Isa>
concept InsertsBits = requires(typename Isa::I v) {
  Isa::insert_high(v, v);
};

/// The blocks have no scales: a row's one scale is in the panel's tail and comes in at the end.
constexpr bool has_tail_scale(DType t) noexcept { return panel_layout(t).tail_bytes != 0; }

/// word<Sub, G>() of a codec of nibbles.
template <class Isa, class Codec, std::size_t Sub, std::size_t G>
[[gnu::always_inline]] inline typename Isa::I nibble_word(const auto& block, auto run) noexcept {
  constexpr bool high = Codec::template high<Sub, G>();
  auto v = Codec::template raw<Sub, G>(block, run);
  if constexpr (ShiftsBytes<Isa>) {
    return Isa::template nibbles<high>(v);
  } else {
    if constexpr (high) v = Isa::template shift_right16<4>(v);
    return Isa::bit_and(v, Isa::bytes(15));
  }
}

/// float(code - offset) of elements 4G .. 4G + 3 of the 32.
template <class Isa, class Codec, std::size_t Sub, std::size_t G>
[[gnu::always_inline]] inline void float_codes(const auto& block, auto run, typename Isa::F (&w)[4]) noexcept {
  if constexpr (requires { Codec::template high<Sub, G>(); }) {
    Isa::template nibble_floats<Codec::template high<Sub, G>(), Codec::offset>(Codec::template raw<Sub, G>(block, run),
                                                                               w);
  } else {
    Isa::template byte_floats<Codec::max_code, Codec::offset>(Codec::template word<Sub, G>(block, run), w);
  }
}

}  // namespace
}  // namespace nibblas
