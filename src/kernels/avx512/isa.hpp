// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/x86/loads.hpp"
#include "nibblas/panel.hpp"

// AVX-512 with VNNI: one register is one row group of a panel, a lane is a row.

namespace nibblas::avx512 {
namespace {

struct Isa {
  static constexpr std::size_t lanes = 16;

  // ---- floats: one per row ----
  using F = __m512;
  [[gnu::always_inline]] static F zero() noexcept { return _mm512_setzero_ps(); }
  [[gnu::always_inline]] static F load(const float* p) noexcept { return _mm512_loadu_ps(p); }
  [[gnu::always_inline]] static void store(float* p, F v) noexcept { _mm512_storeu_ps(p, v); }
  [[gnu::always_inline]] static F broadcast(float x) noexcept { return _mm512_set1_ps(x); }
  [[gnu::always_inline]] static F add(F a, F b) noexcept { return _mm512_add_ps(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) noexcept { return _mm512_mul_ps(a, b); }
  /// a * b + c, one rounding.
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  /// c - a * b, one rounding.
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept { return _mm512_fnmadd_ps(a, b, c); }
  [[gnu::always_inline]] static F load_f16(const std::byte* p) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) noexcept {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }

  // ---- codes: four bytes of each row ----
  using I = __m512i;
  [[gnu::always_inline]] static I load_words(const std::byte* p) noexcept { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static void store_words(std::byte* p, I v) noexcept { _mm512_storeu_si512(p, v); }
  [[gnu::always_inline]] static I bytes(int value) noexcept { return _mm512_set1_epi8(static_cast<char>(value)); }
  [[gnu::always_inline]] static I bit_and(I a, I b) noexcept { return _mm512_and_si512(a, b); }
  [[gnu::always_inline]] static I bit_or(I a, I b) noexcept { return _mm512_or_si512(a, b); }
  /// (a & mask) | b.
  [[gnu::always_inline]] static I and_or(I a, I mask, I b) noexcept {
    return _mm512_ternarylogic_epi64(a, mask, b, 0xea);
  }
  /// Bits of a where mask has a 1, else of b.
  [[gnu::always_inline]] static I bit_select(I mask, I a, I b) noexcept {
    return _mm512_ternarylogic_epi64(mask, a, b, 0xca);
  }
  template <int N>
  [[gnu::always_inline]] static I shift_right16(I a) noexcept {
    return _mm512_srli_epi16(a, N);
  }
  [[gnu::always_inline]] static I shift_right16_by(I a, int n) noexcept {
    return _mm512_srl_epi16(a, _mm_cvtsi32_si128(n));
  }
  template <int N>
  [[gnu::always_inline]] static I shift_left16(I a) noexcept {
    return _mm512_slli_epi16(a, N);
  }
  /// N > 0: left, N < 0: arithmetic right, of each 32-bit lane.
  template <int N>
  [[gnu::always_inline]] static I shift32(I a) noexcept {
    if constexpr (N == 0) return a;
    if constexpr (N > 0) return _mm512_slli_epi32(a, N);
    if constexpr (N < 0) return _mm512_srai_epi32(a, -N);
  }
  [[gnu::always_inline]] static I add32(I a, I b) noexcept { return _mm512_add_epi32(a, b); }
  [[gnu::always_inline]] static I sub32(I a, I b) noexcept { return _mm512_sub_epi32(a, b); }
  [[gnu::always_inline]] static I broadcast32(const void* p) noexcept {
    std::int32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
  }
  [[gnu::always_inline]] static I zero_int() noexcept { return _mm512_setzero_si512(); }
  [[gnu::always_inline]] static F to_float(I a) noexcept { return _mm512_cvtepi32_ps(a); }
  /// The unsigned (signed) byte of each row of a column, of 16 rows' bytes, as a float.
  [[gnu::always_inline]] static F load_u8_float(const std::byte* rows, std::size_t) noexcept {
    return to_float(_mm512_cvtepu8_epi32(x86::load16(rows)));
  }
  [[gnu::always_inline]] static F load_s8_float(const std::byte* rows, std::size_t) noexcept {
    return to_float(_mm512_cvtepi8_epi32(x86::load16(rows)));
  }

  // ---- rows of a file: fours[q] is somewhere in row 4q ----
  /// 16 bytes each of rows r, r + 4, r + 8, r + 12, `distance` being r rows.
  [[gnu::always_inline]] static I load_rows(const std::byte* const* fours, std::size_t distance) noexcept {
    I v = _mm512_castsi128_si512(x86::load16(fours[0] + distance));
    v = _mm512_inserti32x4(v, x86::load16(fours[1] + distance), 1);
    v = _mm512_inserti32x4(v, x86::load16(fours[2] + distance), 2);
    return _mm512_inserti32x4(v, x86::load16(fours[3] + distance), 3);
  }
  /// An f16 of each row.
  [[gnu::always_inline]] static F load_f16_rows(const std::byte* const* fours, std::size_t stride) noexcept {
    const __m128i low = x86::halves_of_8(fours, stride);
    return _mm512_cvtph_ps(
        _mm256_inserti128_si256(_mm256_castsi128_si256(low), x86::halves_of_8(fours + 2, stride), 1));
  }
  [[gnu::always_inline]] static I broadcast16(const std::byte* p) noexcept {
    return _mm512_broadcast_i32x4(x86::load16(p));
  }
  /// The sums over each row's four lanes; v[r] are rows r, r + 4, ...
  [[gnu::always_inline]] static I sum_rows(const I (&v)[4]) noexcept {
    const I even = add32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
    const I odd = add32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
    return add32(_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd));
  }

  // ---- codes to floats ----
  /// float(code - Offset) of the four low or high nibbles of each row: vpermps looks at the low four bits of a lane
  /// only, so a shift and a table of 16 do it.
  template <bool High, int Offset>
  [[gnu::always_inline]] static void nibble_floats(I v, F (&w)[4]) noexcept {
    const F table = _mm512_setr_ps(0 - Offset, 1 - Offset, 2 - Offset, 3 - Offset, 4 - Offset, 5 - Offset, 6 - Offset,
                                   7 - Offset, 8 - Offset, 9 - Offset, 10 - Offset, 11 - Offset, 12 - Offset,
                                   13 - Offset, 14 - Offset, 15 - Offset);
    if constexpr (High) v = _mm512_srli_epi32(v, 4);
    w[0] = _mm512_permutexvar_ps(v, table);
    w[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(v, 8), table);
    w[2] = _mm512_permutexvar_ps(_mm512_srli_epi32(v, 16), table);
    w[3] = _mm512_permutexvar_ps(_mm512_srli_epi32(v, 24), table);
  }
  /// float(code - Offset) of the four bytes of each row: a byte under the exponent of 2^23 is 2^23 + code.
  template <int MaxCode, int Offset>
  [[gnu::always_inline]] static void byte_floats(I v, F (&w)[4]) noexcept {
    const I magic = _mm512_set1_epi32(0x4b000000);
    const F subtract = _mm512_set1_ps(8388608.0f + Offset);
    const auto one = [&](int index) __attribute__((always_inline)) {
      const I spread = _mm512_or_si512(_mm512_set4_epi32(12, 8, 4, 0), _mm512_set1_epi32(index));
      return _mm512_sub_ps(_mm512_castsi512_ps(_mm512_mask_shuffle_epi8(magic, 0x1111111111111111, v, spread)),
                           subtract);
    };
    for (int i = 0; i < 4; ++i) w[i] = one(i);
  }

  // ---- dots ----
  /// Signed codes are used with 128 added; the bias takes 128 * sum(x) off again.
  static constexpr int signed_offset = 128;
  [[gnu::always_inline]] static I from_signed(I w) noexcept { return _mm512_xor_si512(w, bytes(0x80)); }

  /// A bias plus a running sum of Steps 4-byte dots of unsigned codes with s8 activations. vpdpbusd never saturates, so
  /// any code fits. Eight in a row would wait for each other's five cycles: two sums in turn are 5 to 14 % faster over
  /// 16 tokens. (Two tokens side by side instead: slower.)
  template <int MaxCode, int Steps>
  struct Dots {
    static constexpr int group = 1;
    static constexpr int sums = Steps > 4 ? 2 : 1;
    I sum[sums];
    [[gnu::always_inline]] void start(I bias) noexcept {
      sum[sums - 1] = zero_int();
      sum[0] = bias;
    }
    template <int Step>
    [[gnu::always_inline]] void step(I w, I x) noexcept {
      sum[Step % sums] = _mm512_dpbusd_epi32(sum[Step % sums], w, x);
    }
    [[gnu::always_inline]] I finish(I) const noexcept { return sums == 2 ? add32(sum[0], sum[1]) : sum[0]; }
  };

  /// The same in a loop of any length: at most max_steps steps lie between start() and finish().
  template <int MaxCode>
  struct LoopDots {
    static constexpr std::size_t max_steps = SIZE_MAX;
    I sum;
    [[gnu::always_inline]] void start() noexcept { sum = zero_int(); }
    [[gnu::always_inline]] void step(I w, I x) noexcept { sum = _mm512_dpbusd_epi32(sum, w, x); }
    [[gnu::always_inline]] I finish() const noexcept { return sum; }
  };

  // ---- ternary codes in f32 ----
  /// The low two bits of each row as float(code - 1).
  [[gnu::always_inline]] static F ternary_float(I v) noexcept {
    return _mm512_permutevar_ps(_mm512_broadcast_f32x4(_mm_setr_ps(-1, 0, 1, 2)), v);
  }
  /// Entry (low four bits) of a table of 16.
  [[gnu::always_inline]] static F lookup16(F table, I index) noexcept { return _mm512_permutexvar_ps(index, table); }

  [[gnu::always_inline]] static void prefetch(const std::byte* p) noexcept {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
};

}  // namespace
}  // namespace nibblas::avx512
