// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

/// Scale and minimum of q4_k's and q5_k's super-block. `scales`: the panel's 12 x 16 bytes, then 16 f16 d, 16 f16 dmin.
template <class Isa>
[[gnu::always_inline]] inline HalfScales<Isa> k_half_scales(const std::byte* scales, std::size_t column) noexcept {
  const std::byte* d = scales + 12 * kPanelRows + column * Isa::lanes * 2;
  return {Isa::load_f16(d), Isa::load_f16(d + 2 * kPanelRows)};
}

/// Scale and minimum of sub-block Sub.
template <class Isa, std::size_t Sub>
[[gnu::always_inline]] inline void k_scales(const std::byte* scales, std::size_t column, const HalfScales<Isa>& half,
                                            BlockScales<Isa>& s) noexcept {
  const auto at = [&](std::size_t i) { return scales + i * kPanelRows + column * Isa::lanes; };
  typename Isa::F sc;
  typename Isa::F m;
  if constexpr (MakesScaleFloats<Isa> && Sub < 4) {
    sc = Isa::six_bits(at(Sub));
    m = Isa::six_bits(at(Sub + 4));
  } else if constexpr (MakesScaleFloats<Isa>) {
    sc = Isa::template six_bits<false>(at(Sub + 4), at(Sub - 4));
    m = Isa::template six_bits<true>(at(Sub + 4), at(Sub));
  } else if constexpr (Sub < 4) {
    sc = Isa::to_float(Isa::bit_and(Isa::load_u8(at(Sub)), Isa::bytes(63)));
    m = Isa::to_float(Isa::bit_and(Isa::load_u8(at(Sub + 4)), Isa::bytes(63)));
  } else {
    sc = Isa::to_float(Isa::load_u8_or(at(Sub + 4), 0, 0x0f, at(Sub - 4), 0xc0, 2));
    m = Isa::to_float(Isa::load_u8_or(at(Sub + 4), 4, 0x0f, at(Sub), 0xc0, 2));
  }
  s.scale[0] = Isa::mul(half.d, sc);
  s.min = Isa::mul(half.dmin, m);
}

/// The word whose nibbles are elements 4G .. 4G + 3 of sub-block Sub: sub-blocks 2j and 2j + 1 are the low and high
/// ones of the same 8 words.
template <class Isa, std::size_t Sub, std::size_t G>
[[gnu::always_inline]] inline typename Isa::I k_nibbles(const std::byte* block, std::size_t column) noexcept {
  return Isa::load_words(block + (Sub / 2 * 8 + G) * 64 + column * Isa::lanes * 4);
}

}  // namespace
}  // namespace nibblas
