// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "kernels/xsimd/bits.hpp"
#include "nibblas/panel.hpp"

// The operations of the kernels on xsimd batches, for any architecture and any number of lanes that divides a panel's
// rows. `Target` is an xsimd architecture of ours; beside what xsimd wants of one it has what xsimd 8.1 lacks:
//   static F fma(F a, F b, F c), fnma     a * b + c and c - a * b with one rounding
//   static F load_f16(const std::byte* p) one f16 of memory a lane
//   static I widen(const T* p)            one u8, s8 or u16 of memory a lane, as int32

namespace nibblas::xsimd_kernels {
namespace {

template <class Target>
struct Isa {
  static constexpr std::size_t lanes = ::xsimd::batch<float, Target>::size;
  static_assert(kPanelRows % lanes == 0);

  // ---- floats: one per row ----
  using F = ::xsimd::batch<float, Target>;
  [[gnu::always_inline]] static F zero() noexcept { return F(0.0f); }
  [[gnu::always_inline]] static F load(const float* p) noexcept { return F::load_unaligned(p); }
  [[gnu::always_inline]] static void store(float* p, F v) noexcept { v.store_unaligned(p); }
  [[gnu::always_inline]] static F broadcast(float x) noexcept { return F(x); }
  [[gnu::always_inline]] static F add(F a, F b) noexcept { return a + b; }
  [[gnu::always_inline]] static F mul(F a, F b) noexcept { return a * b; }
  /// a * b + c, one rounding.
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept { return Target::fma(a, b, c); }
  /// c - a * b, one rounding.
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept { return Target::fnma(a, b, c); }

  // ---- codes: four bytes of each row ----
  using I = ::xsimd::batch<std::int32_t, Target>;

  [[gnu::always_inline]] static F load_f16(const std::byte* p) noexcept { return Target::load_f16(p); }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) noexcept {
    return cast<F>(shift_left(I(Target::widen(reinterpret_cast<const std::uint16_t*>(p))), 16));
  }

  [[gnu::always_inline]] static I load_words(const std::byte* p) noexcept {
    return I::load_unaligned(reinterpret_cast<const std::int32_t*>(p));
  }
  [[gnu::always_inline]] static void store_words(std::byte* p, I v) noexcept {
    v.store_unaligned(reinterpret_cast<std::int32_t*>(p));
  }
  [[gnu::always_inline]] static I bytes(int value) noexcept {
    return I(static_cast<std::int32_t>(0x01010101u * static_cast<std::uint8_t>(value)));
  }
  [[gnu::always_inline]] static I bit_and(I a, I b) noexcept { return a & b; }
  [[gnu::always_inline]] static I bit_or(I a, I b) noexcept { return a | b; }
  /// (a & mask) | b.
  [[gnu::always_inline]] static I and_or(I a, I mask, I b) noexcept { return (a & mask) | b; }
  template <int N>
  [[gnu::always_inline]] static I shift_right16(I a) noexcept {
    return cast<I>(shift_right(cast<U16>(a), N));
  }
  [[gnu::always_inline]] static I shift_right16_by(I a, int n) noexcept {
    return cast<I>(shift_right(cast<U16>(a), n));
  }
  template <int N>
  [[gnu::always_inline]] static I shift_left16(I a) noexcept {
    return cast<I>(shift_left(cast<U16>(a), N));
  }
  /// N > 0: left, N < 0: arithmetic right, of each 32-bit lane.
  template <int N>
  [[gnu::always_inline]] static I shift32(I a) noexcept {
    if constexpr (N == 0) return a;
    if constexpr (N > 0) return shift_left(a, N);
    if constexpr (N < 0) return shift_right(a, -N);
  }
  [[gnu::always_inline]] static I add32(I a, I b) noexcept { return a + b; }
  [[gnu::always_inline]] static I sub32(I a, I b) noexcept { return a - b; }
  [[gnu::always_inline]] static I zero_int() noexcept { return I(0); }
  [[gnu::always_inline]] static F to_float(I a) noexcept { return ::xsimd::to_float(a); }
  /// The unsigned (signed) byte of each row of a column, of 16 rows' bytes, as a float.
  [[gnu::always_inline]] static F load_u8_float(const std::byte* rows, std::size_t column) noexcept {
    return to_float(Target::widen(reinterpret_cast<const std::uint8_t*>(rows + column * lanes)));
  }
  [[gnu::always_inline]] static F load_s8_float(const std::byte* rows, std::size_t column) noexcept {
    return to_float(Target::widen(reinterpret_cast<const std::int8_t*>(rows + column * lanes)));
  }
  [[gnu::always_inline]] static I broadcast32(const std::int32_t* p) noexcept { return I(*p); }

  // ---- codes to floats ----
  /// float(code - Offset) of the four low or high nibbles of each row.
  template <bool High, int Offset>
  [[gnu::always_inline]] static void nibble_floats(I v, F (&w)[4]) noexcept {
    if constexpr (High) v = shift_right16<4>(v);
    byte_floats<15, Offset>(v & bytes(15), w);
  }
  /// float(code - Offset) of the four bytes of each row; MaxCode < 0: they are signed.
  template <int MaxCode, int Offset>
  [[gnu::always_inline]] static void byte_floats(I v, F (&w)[4]) noexcept {
    for (int i = 0; i < 4; ++i) {
      const I code = MaxCode < 0 ? shift_right(shift_left(v, 24 - 8 * i), 24) : shift_right(v, 8 * i) & I(0xff);
      w[i] = ::xsimd::to_float(Offset == 0 ? code : code - I(Offset));
    }
  }

  // ---- dots ----
  // xsimd multiplies 16-bit lanes, not bytes: bytes 0 and 2 of a word are one vector, bytes 1 and 3 the other.
  using H = ::xsimd::batch<std::int16_t, Target>;
  struct Halves {
    H even;
    H odd;
  };
  [[gnu::always_inline]] static Halves signed_halves(I bytes) noexcept {
    const H h = cast<H>(bytes);
    return {shift_right(shift_left(h, 8), 8), shift_right(h, 8)};
  }
  [[gnu::always_inline]] static Halves unsigned_halves(I bytes) noexcept {
    return {cast<H>(bytes & I(0x00ff00ff)), cast<H>(shift_right16<8>(bytes))};
  }
  /// Four activations of a token, in all lanes.
  [[gnu::always_inline]] static Halves broadcast32(const std::byte* codes) noexcept {
    std::int32_t v;
    __builtin_memcpy(&v, codes, sizeof v);
    return signed_halves(I(v));
  }

  static constexpr int signed_offset = 0;
  [[gnu::always_inline]] static I from_signed(I w) noexcept { return w; }

  /// A bias plus a running sum of Steps 4-byte dots, exact: a step adds two products in 16 bits, so codes up to MaxCode
  /// allow 32767 / (2 * 127 * MaxCode) steps before they are widened. -128 stands for signed codes, -128 included.
  template <int MaxCode, int Steps>
  struct Dots {
    static constexpr int group = 1;
    static constexpr int largest = MaxCode < 0 ? -MaxCode : MaxCode;
    static constexpr int folds = 32767 / (2 * 127 * largest);
    static_assert(folds >= 1, "two products overflow 16 bits");
    I sum;
    H half;
    [[gnu::always_inline]] void start(I bias) noexcept { sum = bias; }
    template <int Step>
    [[gnu::always_inline]] void step(I w, Halves x) noexcept {
      const Halves codes = MaxCode < 0 ? signed_halves(w) : unsigned_halves(w);
      const H pairs = codes.even * x.even + codes.odd * x.odd;
      half = Step % folds == 0 ? pairs : half + pairs;
      if constexpr (Step % folds == folds - 1 || Step == Steps - 1) {
        const I words = cast<I>(half);
        sum += shift_right(shift_left(words, 16), 16) + shift_right(words, 16);
      }
    }
    [[gnu::always_inline]] I finish(I) const noexcept { return sum; }
  };

  /// The same in a loop of any length: at most max_steps steps lie between start() and finish().
  template <int MaxCode>
  struct LoopDots {
    static constexpr std::size_t max_steps = 32767 / (2 * 127 * MaxCode);
    H half;
    [[gnu::always_inline]] void start() noexcept { half = H(std::int16_t{0}); }
    [[gnu::always_inline]] void step(I w, Halves x) noexcept {
      const Halves codes = unsigned_halves(w);
      half = half + (codes.even * x.even + codes.odd * x.odd);
    }
    [[gnu::always_inline]] I finish() const noexcept {
      const I words = cast<I>(half);
      return shift_right(shift_left(words, 16), 16) + shift_right(words, 16);
    }
  };

  // ---- ternary codes in f32 ----
  /// The low two bits of each row as float(code - 1).
  [[gnu::always_inline]] static F ternary_float(I v) noexcept { return ::xsimd::to_float((v & I(3)) - I(1)); }

  [[gnu::always_inline]] static void prefetch(const std::byte* p) noexcept { __builtin_prefetch(p); }

 private:
  using U16 = ::xsimd::batch<std::uint16_t, Target>;
};

}  // namespace
}  // namespace nibblas::xsimd_kernels
