// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nibblas/panel.hpp"

// A codec knows where a panel block keeps its codes and scales, and nothing of registers or loops: Isa supplies the
// operations. A *column* is Isa::lanes rows of a panel, `Sub` counts the 32 elements of a block that are asked for.
//
//   dtype           the format
//   scales_per_32   1, or 2 where a scale covers 16 elements
//   has_min         a minimum is subtracted (q4_k, q5_k)
//   max_code        largest unsigned code any byte pattern gives, or -128 for signed codes
//   offset          what an unsigned code has too much; the dot starts at -offset * sum(x)
//   codes<Sub>()    8 words: codes of k = 4g .. 4g + 3 of each row
//   scales<Sub>()   scale (and min) of each row, f32

namespace nibblas {
namespace {

template <class Isa>
struct BlockScales {
  typename Isa::F scale[2];
  typename Isa::F min;
};

/// The blocks have no scales: a row's one scale is in the panel's tail and comes in at the end.
constexpr bool has_tail_scale(DType t) noexcept { return panel_layout(t).tail_bytes != 0; }

/// 4 words of nibbles: low ones are elements 0..15 of 32, high ones 16..31.
template <class Isa>
[[gnu::always_inline]] inline void nibbles(const std::byte* words, typename Isa::I (&w)[8]) noexcept {
  const auto mask = Isa::bytes(15);
  for (std::size_t g = 0; g < 4; ++g) {
    const auto v = Isa::load_words(words + g * 64);
    w[g] = Isa::bit_and(v, mask);
    w[g + 4] = Isa::bit_and(Isa::template shift_right16<4>(v), mask);
  }
}

}  // namespace
}  // namespace nibblas
