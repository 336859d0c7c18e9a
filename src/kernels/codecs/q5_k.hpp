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
    if constexpr (InsertsBits<Isa>) {
      const auto bits = Isa::load_words(block + (32 + G) * 64 + column * Isa::lanes * 4);
      if constexpr (Sub % 2 == 0) {
        return Isa::bit_and(Isa::insert_high(low, Isa::template shift8<-static_cast<int>(Sub)>(bits)), Isa::bytes(31));
      } else {
        return Isa::bit_and(Isa::insert_low(low, Isa::template shift8<4 - static_cast<int>(Sub)>(bits)),
                            Isa::bytes(31));
      }
    }
    if constexpr (Sub % 2 != 0) low = Isa::template shift_right16<4>(low);
    const auto high = Isa::load_words(block + (32 + G) * 64 + column * Isa::lanes * 4);
    return Isa::and_or(low, Isa::bytes(15), fifth_bit<Sub>(high));
  }
  [[gnu::always_inline]] static HalfScales<Isa> half_scales(const std::byte* block, std::size_t column) noexcept {
    return k_half_scales<Isa>(block + 40 * 64, column);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, const HalfScales<Isa>& half,
                                            BlockScales<Isa>& s) noexcept {
    k_scales<Isa, Sub>(block + 40 * 64, column, half, s);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, BlockScales<Isa>& s) noexcept {
    scales<Sub>(block, column, half_scales(block, column), s);
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
