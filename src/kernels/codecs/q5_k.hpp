// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/k_scales.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q5_K {
  static constexpr DType dtype = DType::q5_k;
  static constexpr std::size_t run_elems = 64;
  using Unpacked = KScales<40 * 64>;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = true;
  static constexpr int max_code = 31;
  static constexpr int offset = 0;

  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const std::byte* block, auto run, std::size_t column) noexcept {
    auto low = k_nibbles<Isa, G>(block, run, column);
    const auto high = Isa::load_words(block + (32 + G) * 64 + column * Isa::lanes * 4);
    if constexpr (InsertsBits<Isa>) {
      return Isa::bit_and(with_fifth_bit<Sub>(low, high, run), Isa::bytes(31));
    } else {
      if constexpr (Sub != 0) low = Isa::template shift_right16<4>(low);
      return Isa::and_or(low, Isa::bytes(15), fifth_bit<Sub>(high, run));
    }
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte*, const Unpacked& unpacked, auto run, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    unpacked.template get<Isa>(2 * run + Sub, column, s);
  }

 private:
  /// The low (Sub 0) or high nibbles, and bit 2 run + Sub of `bits` above them.
  template <std::size_t Sub>
  [[gnu::always_inline]] static typename Isa::I with_fifth_bit(typename Isa::I nibbles, typename Isa::I bits,
                                                               auto run) noexcept {
    if constexpr (requires { run.value; }) {
      constexpr int bit = static_cast<int>(2 * run.value + Sub);
      if constexpr (Sub == 0) return Isa::insert_high(nibbles, Isa::template shift8<-bit>(bits));
      if constexpr (Sub == 1) return Isa::insert_low(nibbles, Isa::template shift8<4 - bit>(bits));
    } else {
      bits = Isa::shift_right16_by(bits, static_cast<int>(2 * run));
      if constexpr (Sub == 0) return Isa::insert_high(nibbles, bits);
      if constexpr (Sub == 1) return Isa::insert_low(nibbles, Isa::template shift8<3>(bits));
    }
  }
  /// Bit 2 run + Sub of every byte, moved to bit 4.
  template <std::size_t Sub>
  [[gnu::always_inline]] static typename Isa::I fifth_bit(typename Isa::I h, auto run) noexcept {
    if constexpr (requires { run.value; }) {
      constexpr int left = 4 - static_cast<int>(2 * run.value + Sub);
      if constexpr (left > 0) h = Isa::template shift_left16<left>(h);
      if constexpr (left < 0) h = Isa::template shift_right16<-left>(h);
      return Isa::bit_and(h, Isa::bytes(16));
    } else {
      h = Isa::shift_right16_by(h, static_cast<int>(2 * run));
      return Isa::bit_and(Isa::template shift_left16<4 - static_cast<int>(Sub)>(h), Isa::bytes(16));
    }
  }
};

}  // namespace
}  // namespace nibblas
