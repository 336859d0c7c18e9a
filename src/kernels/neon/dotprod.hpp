// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/neon/arch.hpp"
#include "kernels/neon/isa.hpp"

// Dots of the dot-product extension: sdot adds the four products of each 32-bit lane. Codes of at most 127 are signed
// bytes as they are.

namespace nibblas::neon {
namespace {

struct Dotprod : Operations {
  /// Activations of which sdot names four by their lane.
  template <int Lane>
  struct XWord {
    int8x16_t x;
  };
  template <std::size_t G>
  [[gnu::always_inline]] static XWord<G % 4> x_word(const std::byte* codes) noexcept {
    return {vreinterpretq_s8_u8(load16(codes + G / 4 * 16))};
  }

  template <int Lane>
  [[gnu::always_inline]] static I dot(I sum, I w, XWord<Lane> x) noexcept {
    return vdotq_laneq_s32(sum, vreinterpretq_s8_s32(w), x.x, Lane);
  }
  [[gnu::always_inline]] static I dot(I sum, I w, I x) noexcept {
    return vdotq_s32(sum, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x));
  }

  /// A bias plus a running sum of Steps 4-byte dots, each 2^Shift times too large. It runs in the bits of a float whose
  /// last bit is worth 2^-Shift: a subtraction makes the sum a float, where the conversion of integers takes two slots
  /// of one pipe. No sum of 32 products reaches 2^22.
  template <int Steps, int Shift>
  struct FloatDots {
    static constexpr int group = 1;
    static_assert(std::int64_t{2} * 128 * 127 * 4 * Steps < (1 << 22), "a sum and its bias");
    I sum;
    [[gnu::always_inline]] void start(I bias) noexcept { sum = add32(bias, origin()); }
    template <int, class X>
    [[gnu::always_inline]] void step(I w, X x) noexcept {
      sum = dot(sum, w, x);
    }
    [[gnu::always_inline]] I finish(I) const noexcept { return shift32<-Shift>(sub32(sum, bits())); }
    /// float(finish()).
    [[gnu::always_inline]] F finish_float(I) const noexcept {
      return vsubq_f32(vreinterpretq_f32_s32(sum), vreinterpretq_f32_s32(bits()));
    }

   private:
    static constexpr std::int32_t kBits = std::bit_cast<std::int32_t>(12582912.0f / (1 << Shift));
    alignas(16) static constexpr std::int32_t kOrigin[4] = {kBits, kBits, kBits, kBits};
    [[gnu::always_inline]] static I bits() noexcept { return vdupq_n_s32(kBits); }
    /// From memory each time: copies of a register, which sdot would overwrite, take slots of the pipes that multiply.
    [[gnu::always_inline]] static I origin() noexcept {
      const volatile I& memory = *reinterpret_cast<const volatile I*>(kOrigin);
      return memory;
    }
  };
  template <int MaxCode, int Steps>
  using Dots = FloatDots<Steps, 0>;

  /// 16 * (code - 8) of the low or high nibbles of each byte, and their dots.
  template <bool High>
  [[gnu::always_inline]] static I centred16(I v) noexcept {
    const I minus8 = veorq_s32(v, bytes(0x88));
    if constexpr (High) return bit_and(minus8, bytes(0xf0));
    return vreinterpretq_s32_u8(vshlq_n_u8(vreinterpretq_u8_s32(minus8), 4));
  }
  template <int Steps>
  using Dots16 = FloatDots<Steps, 4>;

  /// Dots in a loop of any length.
  template <int MaxCode>
  struct LoopDots {
    static constexpr std::size_t max_steps = SIZE_MAX;
    I sum;
    [[gnu::always_inline]] void start() noexcept { sum = zero_int(); }
    template <class X>
    [[gnu::always_inline]] void step(I w, X x) noexcept {
      sum = dot(sum, w, x);
    }
    [[gnu::always_inline]] I finish() const noexcept { return sum; }
  };
};

struct DotprodArch : Arch {
  static constexpr char name[] = "neon_dotprod";
  using Isa = Dotprod;
  static constexpr std::size_t kTernaryTokens = 8;
};

}  // namespace
}  // namespace nibblas::neon
