// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q4_0 {
  static constexpr DType dtype = DType::q4_0;
  static constexpr std::size_t run_elems = 32;
  using Unpacked = NothingUnpacked;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = false;
  static constexpr int max_code = 15;
  static constexpr int offset = 8;

  // Low nibbles are elements 0..15, high ones 16..31.
  template <std::size_t Sub, std::size_t G>
  static constexpr bool high() {
    return G >= 4;
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I raw(const auto& block, auto) noexcept {
    return block.template words<0>(G % 4);
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const auto& block, auto run) noexcept {
    return nibble_word<Isa, Q4_0, Sub, G>(block, run);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* halves, const Unpacked&, auto, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    s.scale[0] = Isa::load_f16(halves + column * Isa::lanes * 2);
  }
};

}  // namespace
}  // namespace nibblas
