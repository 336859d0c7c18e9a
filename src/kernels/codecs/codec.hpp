// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nibblas/panel.hpp"

// A codec knows where a panel block keeps its codes and scales, and nothing of registers or loops: Isa supplies the
// operations. A *column* is Isa::lanes rows of a panel, `Sub` counts the 32 elements of a block that are asked for, `G`
// the four of the 32 that make a word.
//
//   dtype           the format
//   scales_per_32   1, or 2 where a scale covers 16 elements
//   has_min         a minimum is subtracted (q4_k, q5_k)
//   max_code        largest unsigned code any byte pattern gives, or -128 for signed codes
//   offset          what an unsigned code has too much; the dot starts at -offset * sum(x)
//   word<Sub, G>()  codes of k = 4G .. 4G + 3 of each row, a byte each
//   scales<Sub>()   scale (and min) of each row, f32
//
// a codec of super-blocks has its scales in two parts as well:
//   half_scales()   what is the same for the whole block
//   scales<Sub>()   with that
//
// and a codec of nibbles says where they are before they are masked:
//   raw<Sub, G>()   the word they are in, in the low or high nibbles of its bytes:
//   high<Sub, G>()  which

namespace nibblas {
namespace {

template <class Isa>
struct BlockScales {
  typename Isa::F scale[2];
  typename Isa::F min;
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

/// An Isa that makes floats of the k-quants' scales in its own way.
template <class Isa>
concept MakesScaleFloats = requires(const std::byte* p) {
  Isa::six_bits(p);
};

/// An Isa to which the conversion of f16 is dear has it once a super-block.
template <class Isa>
concept KeepsHalves = Isa::keeps_halves;

/// The f16 scale and minimum of a super-block, as f32.
template <class Isa>
struct HalfScales {
  typename Isa::F d;
  typename Isa::F dmin;
};

/// The blocks have no scales: a row's one scale is in the panel's tail and comes in at the end.
constexpr bool has_tail_scale(DType t) noexcept { return panel_layout(t).tail_bytes != 0; }

/// word<Sub, G>() of a codec of nibbles.
template <class Isa, class Codec, std::size_t Sub, std::size_t G>
[[gnu::always_inline]] inline typename Isa::I nibble_word(const std::byte* block, std::size_t column) noexcept {
  constexpr bool high = Codec::template high<Sub, G>();
  auto v = Codec::template raw<Sub, G>(block, column);
  if constexpr (ShiftsBytes<Isa>) {
    return Isa::template nibbles<high>(v);
  } else {
    if constexpr (high) v = Isa::template shift_right16<4>(v);
    return Isa::bit_and(v, Isa::bytes(15));
  }
}

/// float(code - offset) of elements 4G .. 4G + 3 of the 32.
template <class Isa, class Codec, std::size_t Sub, std::size_t G>
[[gnu::always_inline]] inline void float_codes(const std::byte* block, std::size_t column,
                                               typename Isa::F (&w)[4]) noexcept {
  if constexpr (requires { Codec::template high<Sub, G>(); }) {
    Isa::template nibble_floats<Codec::template high<Sub, G>(), Codec::offset>(
        Codec::template raw<Sub, G>(block, column), w);
  } else {
    Isa::template byte_floats<Codec::max_code, Codec::offset>(Codec::template word<Sub, G>(block, column), w);
  }
}

}  // namespace
}  // namespace nibblas
