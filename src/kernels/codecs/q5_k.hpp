// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/k_scales.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q5_K {
  static constexpr DType dtype = DType::q5_k;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = true;
  static constexpr int max_code = 31;
  static constexpr int offset = 0;

  template <std::size_t Sub>
  [[gnu::always_inline]] static void codes(const std::byte* block, std::size_t column,
                                           typename Isa::I (&w)[8]) noexcept {
    const std::byte* words = block + Sub / 2 * 8 * 64 + column * Isa::lanes * 4;
    const std::byte* high = block + 32 * 64 + column * Isa::lanes * 4;
    for (std::size_t g = 0; g < 8; ++g) {
      w[g] = Isa::bit_or(k_nibbles<Isa, Sub>(words + g * 64), fifth_bit<Sub>(Isa::load_words(high + g * 64)));
    }
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, BlockScales<Isa>& s) noexcept {
    k_scales<Isa, Sub>(block + 40 * 64, column, s);
  }

 private:
  /// Bit Sub of every byte, moved to bit 4.
  template <std::size_t Sub>
  [[gnu::always_inline]] static typename Isa::I fifth_bit(typename Isa::I h) noexcept {
    if constexpr (Sub < 4) h = Isa::template shift_left16<4 - static_cast<int>(Sub)>(h);
    if constexpr (Sub > 4) h = Isa::template shift_right16<static_cast<int>(Sub) - 4>(h);
    return Isa::bit_and(h, Isa::bytes(16));
  }
};

}  // namespace
}  // namespace nibblas
