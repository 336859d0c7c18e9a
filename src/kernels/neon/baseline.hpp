// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/neon/arch.hpp"
#include "kernels/neon/isa.hpp"

// Dots of Armv8.0: smull and smlal add byte products in 16 bits, two registers for the 16 of a word.

namespace nibblas::neon {
namespace {

/// Products of codes up to MaxCode (-128: signed, -128 included) with activations of at most 127 that fit a signed
/// 16-bit lane. Centred codes are smaller than that.
template <int MaxCode>
constexpr int kProducts16 = 32767 / (127 * (MaxCode < 0 ? -MaxCode : MaxCode));

struct Products16 {
  int16x8_t rows01;
  int16x8_t rows23;
  [[gnu::always_inline]] void set(int8x16_t w, int8x16_t x) noexcept {
    rows01 = vmull_s8(vget_low_s8(w), vget_low_s8(x));
    rows23 = vmull_high_s8(w, x);
  }
  [[gnu::always_inline]] void add(int8x16_t w, int8x16_t x) noexcept {
    rows01 = vmlal_s8(rows01, vget_low_s8(w), vget_low_s8(x));
    rows23 = vmlal_high_s8(rows23, w, x);
  }
};

struct Baseline : Operations {
  /// Activations 4G .. 4G + 3 of a token's 32, in all lanes.
  template <std::size_t G>
  [[gnu::always_inline]] static I x_word(const std::byte* codes) noexcept {
    return vdupq_laneq_s32(load_words(codes + G / 4 * 16), G % 4);
  }

  /// A bias plus a running sum of Steps 4-byte dots; the bias joins at the end.
  template <int MaxCode, int Steps>
  struct Dots {
    static constexpr int group = 1;
    static constexpr int folds = kProducts16<MaxCode>;
    static_assert(folds >= 1);
    Products16 half;
    int32x4_t rows01;
    int32x4_t rows23;
    [[gnu::always_inline]] void start(I) noexcept {}
    template <int Step>
    [[gnu::always_inline]] void step(I w, I x) noexcept {
      const int8x16_t codes = vreinterpretq_s8_s32(w);
      const int8x16_t acts = vreinterpretq_s8_s32(x);
      if constexpr (Step % folds == 0) {
        half.set(codes, acts);
      } else {
        half.add(codes, acts);
      }
      if constexpr (Step % folds == folds - 1 || Step == Steps - 1) {
        rows01 = Step < folds ? vpaddlq_s16(half.rows01) : vpadalq_s16(rows01, half.rows01);
        rows23 = Step < folds ? vpaddlq_s16(half.rows23) : vpadalq_s16(rows23, half.rows23);
      }
    }
    [[gnu::always_inline]] I finish(I bias) const noexcept { return add32(vpaddq_s32(rows01, rows23), bias); }
  };

  /// The same in a loop of any length: at most max_steps steps lie between start() and finish().
  template <int MaxCode>
  struct LoopDots {
    static constexpr std::size_t max_steps = kProducts16<MaxCode>;
    Products16 half;
    [[gnu::always_inline]] void start() noexcept { half = {vdupq_n_s16(0), vdupq_n_s16(0)}; }
    [[gnu::always_inline]] void step(I w, I x) noexcept { half.add(vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x)); }
    [[gnu::always_inline]] I finish() const noexcept {
      return vpaddq_s32(vpaddlq_s16(half.rows01), vpaddlq_s16(half.rows23));
    }
  };
};

struct BaselineArch : Arch {
  static constexpr char name[] = "neon";
  using Isa = Baseline;
  static constexpr std::size_t kTernaryTokens = 4;  // two registers a sum
};

}  // namespace
}  // namespace nibblas::neon
