// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

/// The 6-bit scales and minima of a block of q4_k or q5_k, a byte each. In the panel, 12 bytes of each row: the low six
/// bits of four scales and of four minima, whose upper two bits belong to four more, of which the rest follows as
/// nibbles.
struct KScales {
  alignas(64) std::byte scale[8][kPanelRows];
  alignas(64) std::byte min[8][kPanelRows];
  float d[kPanelRows];
  float dmin[kPanelRows];

  template <class Isa>
  [[gnu::always_inline]] void unpack(const std::byte* scales) noexcept {
    constexpr std::size_t four = 4 * kPanelRows;
    constexpr std::size_t step = sizeof(typename Isa::I);
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
    s.scale[0] = Isa::mul(Isa::load(d + row), Isa::load_u8_float(scale[sub], column));
    s.min = Isa::mul(Isa::load(dmin + row), Isa::load_u8_float(min[sub], column));
  }
};

}  // namespace
}  // namespace nibblas
