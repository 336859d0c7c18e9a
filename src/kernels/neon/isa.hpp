// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "nibblas/panel.hpp"

// 64-bit Arm: four registers are the 16 rows of a panel, a lane is a row. Everything here is part of Armv8.0; the dots,
// which are not, come from baseline.hpp, dotprod.hpp and i8mm.hpp.

namespace nibblas::neon {
namespace {

/// Top two bytes of float(n - Offset), n = 0..15; the others are 0.
template <int Offset>
struct NibbleFloats {
  std::uint8_t high[16];
  std::uint8_t low[16];
  constexpr NibbleFloats() noexcept : high{}, low{} {
    for (int n = 0; n < 16; ++n) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(n - Offset));
      high[n] = static_cast<std::uint8_t>(bits >> 24);
      low[n] = static_cast<std::uint8_t>(bits >> 16);
    }
  }
};

/// The lower or upper two bits of a nibble, less Offset.
template <bool Upper, int Offset>
struct PairTable {
  std::int8_t code[16];
  constexpr PairTable() noexcept : code{} {
    for (int n = 0; n < 16; ++n) code[n] = static_cast<std::int8_t>((Upper ? n >> 2 : n & 3) - Offset);
  }
};

struct Operations {
  static constexpr std::size_t lanes = 4;

  // ---- floats: one per row ----
  using F = float32x4_t;
  [[gnu::always_inline]] static F zero() noexcept { return vdupq_n_f32(0); }
  [[gnu::always_inline]] static F load(const float* p) noexcept { return vld1q_f32(p); }
  [[gnu::always_inline]] static void store(float* p, F v) noexcept { vst1q_f32(p, v); }
  [[gnu::always_inline]] static F broadcast(float x) noexcept { return vdupq_n_f32(x); }
  [[gnu::always_inline]] static F add(F a, F b) noexcept { return vaddq_f32(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) noexcept { return vmulq_f32(a, b); }
  /// a * b + c, one rounding.
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept { return vfmaq_f32(c, a, b); }
  /// c - a * b, one rounding. Clang negates the first factor by an instruction where that is a product.
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept { return vfmsq_f32(c, b, a); }
  [[gnu::always_inline]] static F load_f16(const std::byte* p) noexcept {
    return vcvt_f32_f16(vreinterpret_f16_u8(load8(p)));
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) noexcept {
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(load8(p)), 16));
  }

  /// Token t of x[0 .. T): four tokens are one register whose lanes the products name, where a broadcast of each would
  /// take a slot of the vector pipes.
  template <std::size_t T, std::size_t t>
  [[gnu::always_inline]] static F broadcast_token(const float* x) noexcept {
    constexpr std::size_t first = t / 4 * 4;
    if constexpr (first + 4 <= T) {
      return vdupq_laneq_f32(vld1q_f32(x + first), t % 4);
    } else {
      return vdupq_n_f32(x[t]);
    }
  }
  /// The two floats of an activation block.
  struct TokenScales {
    F d;
    F dsum;
  };
  [[gnu::always_inline]] static TokenScales token_scales(const Int8Token& x) noexcept {
    const F both = vreinterpretq_f32_u8(load16(reinterpret_cast<const std::byte*>(&x)));
    return {vdupq_laneq_f32(both, 0), vdupq_laneq_f32(both, 1)};
  }

  // ---- codes: four bytes of each row ----
  using I = int32x4_t;
  [[gnu::always_inline]] static I load_words(const std::byte* p) noexcept { return vreinterpretq_s32_u8(load16(p)); }
  [[gnu::always_inline]] static void store_words(std::byte* p, I v) noexcept {
    vst1q_u8(reinterpret_cast<std::uint8_t*>(p), vreinterpretq_u8_s32(v));
  }
  [[gnu::always_inline]] static I bytes(int value) noexcept {
    return vreinterpretq_s32_u8(vdupq_n_u8(static_cast<std::uint8_t>(value)));
  }
  [[gnu::always_inline]] static I bit_and(I a, I b) noexcept { return vandq_s32(a, b); }
  [[gnu::always_inline]] static I bit_or(I a, I b) noexcept { return vorrq_s32(a, b); }
  /// (a & mask) | b.
  [[gnu::always_inline]] static I and_or(I a, I mask, I b) noexcept { return bit_or(bit_and(a, mask), b); }
  template <int N>
  [[gnu::always_inline]] static I shift_right16(I a) noexcept {
    return vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(a), N));
  }
  [[gnu::always_inline]] static I shift_right16_by(I a, int n) noexcept {
    return vreinterpretq_s32_u16(vshlq_u16(vreinterpretq_u16_s32(a), vdupq_n_s16(static_cast<std::int16_t>(-n))));
  }
  template <int N>
  [[gnu::always_inline]] static I shift_left16(I a) noexcept {
    return vreinterpretq_s32_u16(vshlq_n_u16(vreinterpretq_u16_s32(a), N));
  }
  /// N > 0: left, N < 0: arithmetic right, of each 32-bit lane.
  template <int N>
  [[gnu::always_inline]] static I shift32(I a) noexcept {
    if constexpr (N == 0) return a;
    if constexpr (N > 0) return vshlq_n_s32(a, N);
    if constexpr (N < 0) return vshrq_n_s32(a, -N);
  }
  /// The low or high four bits of each byte.
  template <bool High>
  [[gnu::always_inline]] static I nibbles(I v) noexcept {
    if constexpr (High) return vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(v), 4));
    return bit_and(v, bytes(15));
  }
  /// N > 0: left, N < 0: right, of each byte.
  template <int N>
  [[gnu::always_inline]] static I shift8(I v) noexcept {
    if constexpr (N == 0) return v;
    if constexpr (N > 0) return vreinterpretq_s32_u8(vshlq_n_u8(vreinterpretq_u8_s32(v), N));
    if constexpr (N < 0) return vreinterpretq_s32_u8(vshrq_n_u8(vreinterpretq_u8_s32(v), -N));
  }
  /// (low & 15) | (high << 4) of each byte.
  [[gnu::always_inline]] static I insert_high(I low, I high) noexcept {
    return vreinterpretq_s32_u8(vsliq_n_u8(vreinterpretq_u8_s32(low), vreinterpretq_u8_s32(high), 4));
  }
  /// (low >> 4) | (high & 0xf0) of each byte.
  [[gnu::always_inline]] static I insert_low(I low, I high) noexcept {
    return vreinterpretq_s32_u8(vsriq_n_u8(vreinterpretq_u8_s32(high), vreinterpretq_u8_s32(low), 4));
  }
  /// Offset less in each byte: dots take signed codes, and need no bias then.
  template <int Offset>
  [[gnu::always_inline]] static I centred(I v) noexcept {
    return vreinterpretq_s32_s8(vsubq_s8(vreinterpretq_s8_s32(v), vdupq_n_s8(Offset)));
  }
  /// The bit pair G of each byte less Offset, by a table of the nibble it is in.
  template <std::size_t G, int Offset>
  [[gnu::always_inline]] static I ternary_code(I word) noexcept {
    static constexpr PairTable<G % 2 != 0, Offset> table;
    return vreinterpretq_s32_s8(vqtbl1q_s8(vld1q_s8(table.code), vreinterpretq_u8_s32(nibbles<(G >= 2)>(word))));
  }
  [[gnu::always_inline]] static I add32(I a, I b) noexcept { return vaddq_s32(a, b); }
  [[gnu::always_inline]] static I sub32(I a, I b) noexcept { return vsubq_s32(a, b); }
  [[gnu::always_inline]] static I broadcast32(const void* p) noexcept {
    std::int32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return vdupq_n_s32(v);
  }
  [[gnu::always_inline]] static I zero_int() noexcept { return vdupq_n_s32(0); }
  [[gnu::always_inline]] static F to_float(I a) noexcept { return vcvtq_f32_s32(a); }

  // ---- scales, a byte for each of a panel's rows ----
  [[gnu::always_inline]] static F load_u8_float(const std::byte* rows, std::size_t column) noexcept {
    static constexpr std::uint8_t flip[16] = {0, 0, 0, 0, 0, 0, 0, 0, kInteger >> 24};
    return vsubq_f32(integers(rows, column, flip), vdupq_n_f32(8388608.0f));
  }
  [[gnu::always_inline]] static F load_s8_float(const std::byte* rows, std::size_t column) noexcept {
    static constexpr std::uint8_t flip[16] = {128, 128, 128, 128, 128, 128, 128, 128, kInteger >> 24};
    return vsubq_f32(integers(rows, column, flip), vdupq_n_f32(8388608.0f + 128));
  }

  // ---- codes to floats ----
  /// float(code - Offset) of the four low or high nibbles of each row, by a table of the floats' upper halves.
  template <bool High, int Offset>
  [[gnu::always_inline]] static void nibble_floats(I v, F (&w)[4]) noexcept {
    static constexpr NibbleFloats<Offset> table;
    const uint8x16_t code = vreinterpretq_u8_s32(nibbles<High>(v));
    const uint8x16_t high = vqtbl1q_u8(vld1q_u8(table.high), code);
    const uint8x16_t low = vqtbl1q_u8(vld1q_u8(table.low), code);
    I halves[4];
    upper_halves(vreinterpretq_s32_u8(vzip1q_u8(low, high)), vreinterpretq_s32_u8(vzip2q_u8(low, high)), halves);
    for (int i = 0; i < 4; ++i) w[i] = vreinterpretq_f32_s32(halves[i]);
  }
  /// float(code - Offset) of the four bytes of each row; MaxCode < 0: they are signed. Codes become the upper halves of
  /// lanes, which are 2^16 times too large for the conversion.
  template <int MaxCode, int Offset>
  [[gnu::always_inline]] static void byte_floats(I v, F (&w)[4]) noexcept {
    const int8x16_t code = vreinterpretq_s8_s32(Offset == 0 ? v : centred<Offset>(v));
    I halves[4];
    upper_halves(vreinterpretq_s32_s16(vmovl_s8(vget_low_s8(code))), vreinterpretq_s32_s16(vmovl_high_s8(code)),
                 halves);
    for (int i = 0; i < 4; ++i) w[i] = vcvtq_n_f32_s32(halves[i], 16);
  }
  /// The low two bits of each row as float(code - 1).
  [[gnu::always_inline]] static F ternary_float(I v) noexcept {
    return vcvtq_f32_s32(vsubq_s32(vandq_s32(v, vdupq_n_s32(3)), vdupq_n_s32(1)));
  }

  /// Signed codes stay signed.
  static constexpr int signed_offset = 0;
  [[gnu::always_inline]] static I from_signed(I w) noexcept { return w; }

  [[gnu::always_inline]] static void prefetch(const std::byte* p) noexcept { __builtin_prefetch(p); }

 protected:
  [[gnu::always_inline]] static uint8x16_t load16(const std::byte* p) noexcept {
    return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p));
  }
  [[gnu::always_inline]] static uint8x8_t load8(const std::byte* p) noexcept {
    return vld1_u8(reinterpret_cast<const std::uint8_t*>(p));
  }
  /// 2^23 + n as bits of a float, for n < 2^23: a subtraction is cheaper than the conversion of an integer, which takes
  /// two slots of one pipe.
  static constexpr std::uint32_t kInteger = std::bit_cast<std::uint32_t>(8388608.0f);
  /// 2^23 + n for each byte n of a column. The eight bytes of it and its neighbour get the float's upper byte beside
  /// them, and a table brings all to their places.
  [[gnu::always_inline]] static F integers(const std::byte* rows, std::size_t column,
                                           const std::uint8_t (&flip)[16]) noexcept {
    static constexpr std::uint8_t index[2][16] = {{0, 9, 9, 8, 1, 9, 9, 8, 2, 9, 9, 8, 3, 9, 9, 8},
                                                  {4, 9, 9, 8, 5, 9, 9, 8, 6, 9, 9, 8, 7, 9, 9, 8}};
    const uint8x16_t both = vcombine_u8(load8(rows + column / 2 * 8), vdup_n_u8(0));
    return vreinterpretq_f32_u8(vqtbl1q_u8(veorq_u8(both, vld1q_u8(flip)), vld1q_u8(index[column % 2])));
  }
  /// Four 16-bit numbers of rows 0 and 1, then of rows 2 and 3, to the upper halves of rows 0..3.
  [[gnu::always_inline]] static void upper_halves(I rows01, I rows23, I (&out)[4]) noexcept {
    const I first = vuzp1q_s32(rows01, rows23);
    const I second = vuzp2q_s32(rows01, rows23);
    const I upper = vdupq_n_s32(static_cast<std::int32_t>(0xffff0000));
    out[0] = vshlq_n_s32(first, 16);
    out[1] = vandq_s32(first, upper);
    out[2] = vshlq_n_s32(second, 16);
    out[3] = vandq_s32(second, upper);
  }
};

}  // namespace
}  // namespace nibblas::neon
