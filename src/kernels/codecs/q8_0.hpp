// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/codecs/codec.hpp"

namespace nibblas {
namespace {

template <class Isa>
struct Q8_0 {
  static constexpr DType dtype = DType::q8_0;
  static constexpr std::size_t run_elems = 32;
  using Unpacked = NothingUnpacked;
  static constexpr std::size_t scales_per_32 = 1;
  static constexpr bool has_min = false;
  static constexpr int max_code = -128;  // signed
  static constexpr int offset = Isa::signed_offset;

  template <std::size_t Sub, std::size_t G>
  [[gnu::always_inline]] static typename Isa::I word(const auto& block, auto) noexcept {
    return Isa::from_signed(block.template words<0>(G));
  }
  template <std::size_t Sub>
  [[gnu::always_inline]] static void scales(const std::byte* halves, const Unpacked&, auto, std::size_t column,
                                            BlockScales<Isa>& s) noexcept {
    s.scale[0] = Isa::load_f16(halves + column * Isa::lanes * 2);
  }
};

}  // namespace
}  // namespace nibblas
