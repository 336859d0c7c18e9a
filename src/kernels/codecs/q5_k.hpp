// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/k_scales.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q5_K {
  static constexpr DType dtype = DType::q5_k;
  static constexpr std::size_t run_elems = 64;
  using Unpacked = KScales;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = true;
  static constexpr int max_code = 31;
  static constexpr int offset = 0;

  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const auto& block, auto run) noexcept {
    auto low = block.template words<0>(8 * run + G);
    const auto high = block.template words<1>(G);
    if constexpr (InsertsBits<Isa>) return inserted<Sub>(low, high, run);
    if constexpr (Sub != 0) low = Isa::template shift_right16<4>(low);
    return Isa::and_or(low, Isa::bytes(15), fifth_bit<Sub>(high, run));
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte*, const Unpacked& unpacked, auto run, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    unpacked.template get<Isa>(2 * run + Sub, column, s);
  }

 private:
  /// word() of an Isa that inserts bits: bit 2 run + Sub goes to bit 0 and is inserted above the low nibble, or to bit
  /// 4 and the high nibble is inserted below it.
  template <std::size_t Sub>
  [[gnu::always_inline]] static typename Isa::I inserted(typename Isa::I nibbles, typename Isa::I high,
                                                         auto run) noexcept {
    constexpr int to = Sub == 0 ? 0 : 4;
    if constexpr (requires { run.value; }) {
      high = Isa::template shift8<to - static_cast<int>(2 * run.value + Sub)>(high);
    } else {
      high = Isa::shift_right16_by(high, static_cast<int>(2 * run + Sub) - to);
    }
    return Isa::bit_and(Sub == 0 ? Isa::insert_high(nibbles, high) : Isa::insert_low(nibbles, high), Isa::bytes(31));
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
