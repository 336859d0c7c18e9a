// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "kernels/codecs/codec.hpp"

// The ternary panel: word j of each row holds k = 16j + 4g + i in bits 2g of byte i, as code = w + 1. A 3 is corrupt
// and stands for +2.

namespace nibblas {
namespace {

inline constexpr int kTernaryMaxCode = 3;
inline constexpr std::size_t kTernaryWordElems = 16;

/// An Isa that looks up bytes finds a code less Offset by the nibble it shares with another.
template <class Isa>
concept LooksUpCodes = requires(typename Isa::I v) {
  Isa::template ternary_code<0, 1>(v);
};

/// Codes of k = 4G .. 4G + 3 of a word.
template <class Isa, std::size_t G>
[[gnu::always_inline]] inline typename Isa::I ternary_codes(typename Isa::I word) noexcept {
  if constexpr (G == 0) {
    return Isa::bit_and(word, Isa::bytes(3));
  } else if constexpr (G == 3 && ShiftsBytes<Isa>) {
    return Isa::template shift8<-6>(word);
  } else {
    return Isa::bit_and(Isa::template shift_right16<2 * static_cast<int>(G)>(word), Isa::bytes(3));
  }
}

/// Codes of k = 4g .. 4g + 3 of a word, for g = 0, 1, 2, 3 in turn. (gcc would load the word again for each shift of
/// it, which costs a third of the bandwidth where words straddle cache lines.)
template <class Isa>
[[gnu::always_inline]] inline typename Isa::I take_ternary_codes(typename Isa::I& word) noexcept {
  const auto codes = Isa::bit_and(word, Isa::bytes(3));
  word = Isa::template shift_right16<2>(word);
  return codes;
}

/// float(code - 1) of element E of a word.
template <class Isa, std::size_t E>
[[gnu::always_inline]] inline typename Isa::F ternary_element(typename Isa::I word) noexcept {
  constexpr int bit = static_cast<int>(8 * (E % 4) + 2 * (E / 4));
  return Isa::ternary_float(Isa::template shift32<-bit>(word));
}

/// tq1_0 and tq2_0 have one panel, and so one tile.
constexpr DType ternary_panel(DType t) noexcept { return t == DType::tq1_0 ? DType::tq2_0 : t; }
static_assert(panel_layout(DType::tq1_0).id == panel_layout(DType::tq2_0).id);

/// tq1_0 and tq2_0 (a scale per 256) and bitnet_b158 (row scales in the tail) for the int8 tile.
template <class Isa, DType T>
struct Ternary {
  static constexpr DType dtype = T;
  static constexpr std::size_t run_elems = 32;
  using Unpacked = std::conditional_t<has_tail_scale(T), NothingUnpacked, RowScales<0>>;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = false;
  static constexpr int max_code = kTernaryMaxCode;
  static constexpr int offset = 1;

  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const auto& block, auto run) noexcept {
    return ternary_codes<Isa, G % 4>(four_words<Sub, G>(block, run));
  }
  /// word() less offset.
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I centred_word(const auto& block,
                                                             auto run) noexcept requires LooksUpCodes<Isa> {
    return Isa::template ternary_code<G % 4, offset>(four_words<Sub, G>(block, run));
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte*, const Unpacked& unpacked, std::size_t, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    if constexpr (!has_tail_scale(T)) s.scale[0] = Isa::load(unpacked.d + column * Isa::lanes);
  }

 private:
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I four_words(const auto& block, auto run) noexcept {
    return block.template words<0>(2 * run + G / 4);
  }
};

}  // namespace
}  // namespace nibblas
