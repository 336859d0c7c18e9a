// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/k_scales.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q4_K {
  static constexpr DType dtype = DType::q4_k;
  static constexpr std::size_t run_elems = 64;
  using Unpacked = KScales;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = true;
  static constexpr int max_code = 15;
  static constexpr int offset = 0;

  template <std::size_t Sub, std::size_t G>
  static constexpr bool high() {
    return Sub != 0;
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I raw(const auto& block, auto run) noexcept {
    return block.template words<0>(8 * run + G);
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const auto& block, auto run) noexcept {
    return nibble_word<Isa, Q4_K, Sub, G>(block, run);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte*, const Unpacked& unpacked, auto run, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    unpacked.template get<Isa>(2 * run + Sub, column, s);
  }
};

}  // namespace
}  // namespace nibblas
