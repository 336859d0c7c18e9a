// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/k_scales.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q4_K {
  static constexpr DType dtype = DType::q4_k;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = true;
  static constexpr int max_code = 15;
  static constexpr int offset = 0;

  template <std::size_t Sub, std::size_t G>
  static constexpr bool high() {
    return Sub % 2 != 0;
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I raw(const std::byte* block, std::size_t column) noexcept {
    return k_nibbles<Isa, Sub, G>(block, column);
  }
  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const std::byte* block, std::size_t column) noexcept {
    return nibble_word<Isa, Q4_K, Sub, G>(block, column);
  }
  [[gnu::always_inline]] static HalfScales<Isa> half_scales(const std::byte* block, std::size_t column) noexcept {
    return k_half_scales<Isa>(block + 32 * 64, column);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, const HalfScales<Isa>& half,
                                            BlockScales<Isa>& s) noexcept {
    k_scales<Isa, Sub>(block + 32 * 64, column, half, s);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, BlockScales<Isa>& s) noexcept {
    scales<Sub>(block, column, half_scales(block, column), s);
  }
};

}  // namespace
}  // namespace nibblas
