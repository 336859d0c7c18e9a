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

  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const std::byte* block, std::size_t column) noexcept {
    auto low = k_nibbles<Isa, Sub, G>(block, column);
    if constexpr (Sub % 2 != 0) low = Isa::template shift_right16<4>(low);
    const auto high = Isa::load_words(block + (32 + G) * 64 + column * Isa::lanes * 4);
    return Isa::and_or(low, Isa::bytes(15), fifth_bit<Sub>(high));
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
