// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "nibblas/panel.hpp"

// The operations of the kernels on xsimd batches, for any architecture and any number of lanes that divides a panel's
// rows. `Target` is an xsimd architecture of ours; beside what xsimd wants of one it has what xsimd 8.1 lacks:
//   static F fma(F a, F b, F c), fnma     a * b + c and c - a * b with one rounding
//   static I widen(const T* p)            one u8, s8, u16 or s16 of memory a lane, as int32

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

  /// Exact for every value. In the place of an f32's, the bits of an f16 give a number 2^112 too small: 112 more in the
  /// exponent makes it right. A subnormal, which has no implied one, gets the exponent of the smallest normal number,
  /// whose value is then taken off; Inf and NaN get the exponent of Inf. (Multiplying by 2^112 would serve subnormals
  /// as well, but they are common in small scales and slow as operands of a product: adr/0006.)
  [[gnu::always_inline]] static F load_f16(const std::byte* p) noexcept {
    const I h = Target::widen(reinterpret_cast<const std::int16_t*>(p));
    const I magnitude = h & I(0x7fff);
    const I smallest = where(I(0x0400) > magnitude, kSmallestHalf);
    const I infinity = where(magnitude > I(0x7bff), kInfinity);
    const I bits = ((magnitude << 13) + I(112 << 23)) | smallest | infinity;
    const F value = ::xsimd::bitwise_cast<F>(bits) - ::xsimd::bitwise_cast<F>(smallest);
    return ::xsimd::bitwise_cast<F>(::xsimd::bitwise_cast<I>(value) | (h & I(kSignBit)));
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) noexcept {
    return ::xsimd::bitwise_cast<F>(I(Target::widen(reinterpret_cast<const std::uint16_t*>(p))) << 16);
  }

  [[gnu::always_inline]] static I load_words(const std::byte* p) noexcept {
    return I::load_unaligned(reinterpret_cast<const std::int32_t*>(p));
  }
  [[gnu::always_inline]] static I bytes(int value) noexcept {
    return I(static_cast<std::int32_t>(0x01010101u * static_cast<std::uint8_t>(value)));
  }
  [[gnu::always_inline]] static I bit_and(I a, I b) noexcept { return a & b; }
  [[gnu::always_inline]] static I bit_or(I a, I b) noexcept { return a | b; }
  template <int N>
  [[gnu::always_inline]] static I shift_right16(I a) noexcept {
    return ::xsimd::bitwise_cast<I>(::xsimd::bitwise_cast<U16>(a) >> N);
  }
  template <int N>
  [[gnu::always_inline]] static I shift_left16(I a) noexcept {
    return ::xsimd::bitwise_cast<I>(::xsimd::bitwise_cast<U16>(a) << N);
  }
  /// N > 0: left, N < 0: arithmetic right, of each 32-bit lane.
  template <int N>
  [[gnu::always_inline]] static I shift32(I a) noexcept {
    if constexpr (N == 0) return a;
    if constexpr (N > 0) return a << N;
    if constexpr (N < 0) return a >> -N;
  }
  [[gnu::always_inline]] static I sub32(I a, I b) noexcept { return a - b; }
  [[gnu::always_inline]] static I zero_int() noexcept { return I(0); }
  [[gnu::always_inline]] static F to_float(I a) noexcept { return ::xsimd::to_float(a); }
  /// One unsigned (signed) byte a row.
  [[gnu::always_inline]] static I load_u8(const std::byte* p) noexcept {
    return Target::widen(reinterpret_cast<const std::uint8_t*>(p));
  }
  [[gnu::always_inline]] static I load_s8(const std::byte* p) noexcept {
    return Target::widen(reinterpret_cast<const std::int8_t*>(p));
  }
  /// Low bits of two byte vectors, combined.
  [[gnu::always_inline]] static I load_u8_or(const std::byte* low, int low_shift, int low_mask, const std::byte* high,
                                             int high_mask, int high_shift) noexcept {
    return ((load_u8(low) >> low_shift) & I(low_mask)) | ((load_u8(high) & I(high_mask)) >> high_shift);
  }
  [[gnu::always_inline]] static I broadcast32(const std::int32_t* p) noexcept { return I(*p); }

  // ---- dots ----
  // xsimd multiplies 16-bit lanes, not bytes: bytes 0 and 2 of a word are one vector, bytes 1 and 3 the other.
  using H = ::xsimd::batch<std::int16_t, Target>;
  struct Halves {
    H even;
    H odd;
  };
  [[gnu::always_inline]] static Halves signed_halves(I bytes) noexcept {
    const H h = ::xsimd::bitwise_cast<H>(bytes);
    return {(h << 8) >> 8, h >> 8};
  }
  [[gnu::always_inline]] static Halves unsigned_halves(I bytes) noexcept {
    return {::xsimd::bitwise_cast<H>(bytes & I(0x00ff00ff)), ::xsimd::bitwise_cast<H>(shift_right16<8>(bytes))};
  }
  /// Four activations of a token, in all lanes.
  [[gnu::always_inline]] static Halves broadcast32(const std::byte* codes) noexcept {
    std::int32_t v;
    __builtin_memcpy(&v, codes, sizeof v);
    return signed_halves(I(v));
  }

  static constexpr int signed_offset = 0;
  [[gnu::always_inline]] static I from_signed(I w) noexcept { return w; }

  /// A running sum of 4-byte dots, exact: a step adds two products in 16 bits, so codes up to MaxCode allow
  /// 32767 / (2 * 127 * MaxCode) steps before they are widened. -128 stands for signed codes, -128 included.
  template <int MaxCode>
  struct Dots {
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
      if constexpr (Step % folds == 0) {
        if constexpr (Step != 0) widen();
        half = pairs;
      } else {
        half += pairs;
      }
    }
    [[gnu::always_inline]] I finish() noexcept {
      widen();
      return sum;
    }
    [[gnu::always_inline]] void widen() noexcept {
      const I words = ::xsimd::bitwise_cast<I>(half);
      sum += ((words << 16) >> 16) + (words >> 16);
    }
  };

  [[gnu::always_inline]] static void prefetch(const std::byte* p) noexcept { __builtin_prefetch(p); }

 private:
  using U16 = ::xsimd::batch<std::uint16_t, Target>;
  /// `value` in the lanes that have the condition, 0 in the others. A condition is a vector on some architectures, a
  /// mask register on others.
  [[gnu::always_inline]] static I where(::xsimd::batch_bool<std::int32_t, Target> condition,
                                        std::int32_t value) noexcept {
    if constexpr (sizeof condition == sizeof(I)) {
      return I(condition.data) & I(value);
    } else {
      return ::xsimd::select(condition, I(value), I(0));
    }
  }
  static constexpr std::int32_t kSignBit = INT32_MIN;
  static constexpr std::int32_t kSmallestHalf = 113 << 23;  // 2^-14 as f32
  static constexpr std::int32_t kInfinity = 0x7f800000;
};

}  // namespace
}  // namespace nibblas::xsimd_kernels
