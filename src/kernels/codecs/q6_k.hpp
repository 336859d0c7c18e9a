// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q6_K {
  static constexpr DType dtype = DType::q6_k;
  static constexpr std::size_t run_elems = 128;
  using Unpacked = RowScales<16 * kPanelRows>;
  static constexpr std::size_t scales_per_32 = 2;
  static constexpr bool has_min = false;
  static constexpr int max_code = 63;
  static constexpr int offset = 32;

  // A run is half a block, and Sub a quarter of that: its low bits are nibbles of the ql words 16 run + 8 (Sub % 2)
  // ..., low ones for Sub < 2, its high bits are bits 2 Sub of the qh words 8 run ...
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const auto& block, auto run) noexcept {
    auto low = block.template words<0>(16 * run + 8 * (Sub % 2) + G);
    auto high = block.template words<1>(8 * run + G);
    if constexpr (InsertsBits<Isa>) {
      if constexpr (Sub % 2 != 0) high = Isa::template shift8<-2>(high);
      const auto code = Sub < 2 ? Isa::insert_high(low, high) : Isa::insert_low(low, high);
      return Sub < 3 ? Isa::bit_and(code, Isa::bytes(63)) : code;
    }
    if constexpr (Sub >= 2) low = Isa::template shift_right16<4>(low);
    if constexpr (Sub < 2) high = Isa::template shift_left16<4 - 2 * static_cast<int>(Sub)>(high);
    if constexpr (Sub > 2) high = Isa::template shift_right16<2>(high);
    return Isa::and_or(low, Isa::bytes(0x0f), Isa::bit_and(high, Isa::bytes(0x30)));
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* bytes, const Unpacked& unpacked, auto run,
                                            std::size_t column, BlockScales<Isa>& s) noexcept {
    const std::size_t row = column * Isa::lanes;
    const auto d = Isa::load(unpacked.d + row);
    bytes += (4 * run + Sub) * 2 * kPanelRows;
    for (std::size_t i = 0; i < 2; ++i) {
      s.scale[i] = Isa::mul(d, Isa::load_s8_float(bytes + i * kPanelRows, column));
    }
  }
};

}  // namespace
}  // namespace nibblas
