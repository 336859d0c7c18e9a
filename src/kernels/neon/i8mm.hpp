// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/neon/arch.hpp"
#include "kernels/neon/dotprod.hpp"

// Dots of the matrix-multiply extension: smmla multiplies 8 elements of two tokens with 8 of two rows and adds the four
// sums. It does twice what sdot does, where there are two tokens; a single token is sdot's.

namespace nibblas::neon {
namespace {

struct I8mm : Dotprod {
  /// Two words of four rows become rows 0 and 1, and rows 2 and 3, with 8 elements each.
  [[gnu::always_inline]] static void pair_words(I& a, I& b) noexcept {
    const I rows01 = vzip1q_s32(a, b);
    b = vzip2q_s32(a, b);
    a = rows01;
  }
  /// Activations 4G .. 4G + 7 of two tokens.
  template <std::size_t G>
  [[gnu::always_inline]] static int8x16_t x_pair(const std::byte* codes0, const std::byte* codes1) noexcept {
    static_assert(G % 2 == 0);
    const int64x2_t x0 = vreinterpretq_s64_u8(load16(codes0 + G / 4 * 16));
    const int64x2_t x1 = vreinterpretq_s64_u8(load16(codes1 + G / 4 * 16));
    return vreinterpretq_s8_s64(G % 4 == 0 ? vzip1q_s64(x0, x1) : vzip2q_s64(x0, x1));
  }

  /// `Dots` of four rows, for two tokens.
  template <class Dots>
  struct PairDots {
    Dots rows01;  ///< row 0 with both tokens, then row 1
    Dots rows23;
    [[gnu::always_inline]] void start() noexcept {
      rows01.start(zero_int());
      rows23.start(zero_int());
    }
    [[gnu::always_inline]] void step(I w01, I w23, int8x16_t x) noexcept {
      rows01.sum = vmmlaq_s32(rows01.sum, vreinterpretq_s8_s32(w01), x);
      rows23.sum = vmmlaq_s32(rows23.sum, vreinterpretq_s8_s32(w23), x);
    }
    template <std::size_t Token>
    [[gnu::always_inline]] Dots token() const noexcept {
      Dots out;
      out.sum = Token == 0 ? vuzp1q_s32(rows01.sum, rows23.sum) : vuzp2q_s32(rows01.sum, rows23.sum);
      return out;
    }
  };
};

struct I8mmArch : Arch {
  static constexpr char name[] = "neon_i8mm";
  using Isa = I8mm;
  // Two columns share a pair of x; four tokens, or four columns, do not fit the registers.
  static constexpr std::size_t kInt8Columns = 2;
  static constexpr std::size_t kInt8Tokens = 2;
  static constexpr std::size_t kTernaryTokens = 8;
};

}  // namespace
}  // namespace nibblas::neon
