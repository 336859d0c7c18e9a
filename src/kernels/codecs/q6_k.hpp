// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q6_K {
  static constexpr DType dtype = DType::q6_k;
  static constexpr std::size_t scales_per_32 = 2;
  static constexpr bool has_min = false;
  static constexpr int max_code = 63;
  static constexpr int offset = 32;

  // 32 elements are part p = Sub % 4 of half Sub / 4: their low bits are nibbles of ql words 16 half + 8 (p % 2) ...,
  // low for p < 2, their high bits are bits 2p of qh words 8 half ...
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const std::byte* block, std::size_t column) noexcept {
    constexpr std::size_t half = Sub / 4;
    constexpr std::size_t part = Sub % 4;
    auto low = Isa::load_words(block + (16 * half + 8 * (part % 2) + G) * 64 + column * Isa::lanes * 4);
    auto high = Isa::load_words(block + (32 + 8 * half + G) * 64 + column * Isa::lanes * 4);
    if constexpr (InsertsBits<Isa>) {
      if constexpr (part % 2 != 0) high = Isa::template shift8<-2>(high);
      const auto code = part < 2 ? Isa::insert_high(low, high) : Isa::insert_low(low, high);
      return part < 3 ? Isa::bit_and(code, Isa::bytes(63)) : code;
    }
    if constexpr (part >= 2) low = Isa::template shift_right16<4>(low);
    if constexpr (part < 2) high = Isa::template shift_left16<4 - 2 * static_cast<int>(part)>(high);
    if constexpr (part > 2) high = Isa::template shift_right16<2>(high);
    return Isa::and_or(low, Isa::bytes(0x0f), Isa::bit_and(high, Isa::bytes(0x30)));
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, BlockScales<Isa>& s) noexcept {
    const std::byte* bytes = block + 48 * 64;
    const auto d = Isa::load_f16(bytes + 16 * kPanelRows + column * Isa::lanes * 2);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::byte* scales = bytes + (2 * Sub + i) * kPanelRows + column * Isa::lanes;
      if constexpr (MakesScaleFloats<Isa>) {
        s.scale[i] = Isa::mul(d, Isa::load_s8_float(scales));
      } else {
        s.scale[i] = Isa::mul(d, Isa::to_float(Isa::load_s8(scales)));
      }
    }
  }
};

}  // namespace
}  // namespace nibblas
