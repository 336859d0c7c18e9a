// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

/// The 6-bit scales and minima of a block of q4_k or q5_k, a byte each. In the block, 12 bytes of each row: the low six
/// bits of four scales and of four minima, whose upper two bits belong to four more, of which the rest follows as
/// nibbles.
template <std::size_t Offset>
struct KScales {
  alignas(64) std::byte scale[8][kPanelRows];
  alignas(64) std::byte min[8][kPanelRows];
  float d[kPanelRows];
  float dmin[kPanelRows];

  template <class Isa>
  [[gnu::always_inline]] void unpack(const std::byte* block) noexcept {
    constexpr std::size_t four = 4 * kPanelRows;
    constexpr std::size_t step = sizeof(typename Isa::I);
    const std::byte* scales = block + Offset;
    for (std::size_t i = 0; i < four; i += step) {
      const auto s = Isa::load_words(scales + i);
      const auto m = Isa::load_words(scales + four + i);
      const auto rest = Isa::load_words(scales + 2 * four + i);
      const auto upper = [](typename Isa::I v) __attribute__((always_inline)) {
        return Isa::bit_and(Isa::template shift_right16<2>(v), Isa::bytes(0x30));
      };
      Isa::store_words(&scale[0][0] + i, Isa::bit_and(s, Isa::bytes(0x3f)));
      Isa::store_words(&min[0][0] + i, Isa::bit_and(m, Isa::bytes(0x3f)));
      Isa::store_words(&scale[4][0] + i, Isa::and_or(rest, Isa::bytes(0x0f), upper(s)));
      Isa::store_words(&min[4][0] + i, Isa::and_or(Isa::template shift_right16<4>(rest), Isa::bytes(0x0f), upper(m)));
    }
    load_halves<Isa>(scales + 3 * four, d);
    load_halves<Isa>(scales + 3 * four + 2 * kPanelRows, dmin);
  }

  template <class Isa>
  [[gnu::always_inline]] void get(std::size_t sub, std::size_t column, BlockScales<Isa>& s) const noexcept {
    const std::size_t row = column * Isa::lanes;
    s.scale[0] = Isa::mul(Isa::load(d + row), u8_floats<Isa>(scale[sub] + row));
    s.min = Isa::mul(Isa::load(dmin + row), u8_floats<Isa>(min[sub] + row));
  }
};

/// The word whose nibbles are elements 4G .. 4G + 3 of the two sub-blocks of a run: the low and the high ones.
template <class Isa, std::size_t G>
[[gnu::always_inline]] inline typename Isa::I k_nibbles(const std::byte* block, auto run, std::size_t column) noexcept {
  return Isa::load_words(block + (8 * run + G) * 64 + column * Isa::lanes * 4);
}

}  // namespace
}  // namespace nibblas
