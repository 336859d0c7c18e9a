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

  template <std::size_t Sub>
  [[gnu::always_inline]] static void codes(const std::byte* block, std::size_t column,
                                           typename Isa::I (&w)[8]) noexcept {
    const std::byte* words = block + Sub / 2 * 8 * 64 + column * Isa::lanes * 4;
    for (std::size_t g = 0; g < 8; ++g) w[g] = k_nibbles<Isa, Sub>(words + g * 64);
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* block, std::size_t column, BlockScales<Isa>& s) noexcept {
    k_scales<Isa, Sub>(block + 32 * 64, column, s);
  }
};

}  // namespace
}  // namespace nibblas
