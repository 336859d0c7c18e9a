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

  static constexpr std::size_t kBlock = panel_layout(dtype).block_bytes;

  // Low nibbles are elements 0..15, high ones 16..31.
  template <std::size_t Sub, std::size_t G>
  static constexpr bool high() {
    return G >= 4;
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I raw(const std::byte* block, auto run, std::size_t column) noexcept {
    return Isa::load_words(block + run * kBlock + G % 4 * 64 + column * Isa::lanes * 4);
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const std::byte* block, auto run, std::size_t column) noexcept {
    return nibble_word<Isa, Q4_0, Sub, G>(block, run, column);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, const Unpacked&, auto run, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    s.scale[0] = Isa::load_f16(block + run * kBlock + 4 * 64 + column * Isa::lanes * 2);
  }
};

}  // namespace
}  // namespace nibblas
