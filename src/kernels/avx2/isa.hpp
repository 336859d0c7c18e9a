// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/x86/loads.hpp"
#include "nibblas/panel.hpp"

// AVX2 with FMA and F16C: two registers are the 16 rows of a panel, a lane is a row.

namespace nibblas::avx2 {
namespace {

struct Isa {
  static constexpr std::size_t lanes = 8;

  // ---- floats: one per row ----
  using F = __m256;
  [[gnu::always_inline]] static F zero() noexcept { return _mm256_setzero_ps(); }
  [[gnu::always_inline]] static F load(const float* p) noexcept { return _mm256_loadu_ps(p); }
  [[gnu::always_inline]] static void store(float* p, F v) noexcept { _mm256_storeu_ps(p, v); }
  [[gnu::always_inline]] static F broadcast(float x) noexcept { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] static F add(F a, F b) noexcept { return _mm256_add_ps(a, b); }
  [[gnu::always_inline]] static F mul(F a, F b) noexcept { return _mm256_mul_ps(a, b); }
  /// a * b + c, one rounding.
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  /// c - a * b, one rounding.
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept { return _mm256_fnmadd_ps(a, b, c); }
  [[gnu::always_inline]] static F load_f16(const std::byte* p) noexcept { return _mm256_cvtph_ps(x86::load16(p)); }
  [[gnu::always_inline]] static F load_bf16(const std::byte* p) noexcept {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x86::load16(p)), 16));
  }

  // ---- codes: four bytes of each row ----
  using I = __m256i;
  [[gnu::always_inline]] static I load_words(const std::byte* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static void store_words(std::byte* p, I v) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  [[gnu::always_inline]] static I bytes(int value) noexcept { return _mm256_set1_epi8(static_cast<char>(value)); }
  [[gnu::always_inline]] static I bit_and(I a, I b) noexcept { return _mm256_and_si256(a, b); }
  [[gnu::always_inline]] static I bit_or(I a, I b) noexcept { return _mm256_or_si256(a, b); }
  /// (a & mask) | b.
  [[gnu::always_inline]] static I and_or(I a, I mask, I b) noexcept { return bit_or(bit_and(a, mask), b); }
  template <int N>
  [[gnu::always_inline]] static I shift_right16(I a) noexcept {
    return _mm256_srli_epi16(a, N);
  }
  [[gnu::always_inline]] static I shift_right16_by(I a, int n) noexcept {
    return _mm256_srl_epi16(a, _mm_cvtsi32_si128(n));
  }
  template <int N>
  [[gnu::always_inline]] static I shift_left16(I a) noexcept {
    return _mm256_slli_epi16(a, N);
  }
  /// N > 0: left, N < 0: arithmetic right, of each 32-bit lane.
  template <int N>
  [[gnu::always_inline]] static I shift32(I a) noexcept {
    if constexpr (N == 0) return a;
    if constexpr (N > 0) return _mm256_slli_epi32(a, N);
    if constexpr (N < 0) return _mm256_srai_epi32(a, -N);
  }
  [[gnu::always_inline]] static I add32(I a, I b) noexcept { return _mm256_add_epi32(a, b); }
  [[gnu::always_inline]] static I sub32(I a, I b) noexcept { return _mm256_sub_epi32(a, b); }
  [[gnu::always_inline]] static I broadcast32(const void* p) noexcept {
    std::int32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
  }
  [[gnu::always_inline]] static I zero_int() noexcept { return _mm256_setzero_si256(); }
  [[gnu::always_inline]] static F to_float(I a) noexcept { return _mm256_cvtepi32_ps(a); }
  /// The unsigned (signed) byte of each row of a column, of 16 rows' bytes, as a float.
  [[gnu::always_inline]] static F load_u8_float(const std::byte* rows, std::size_t column) noexcept {
    return to_float(_mm256_cvtepu8_epi32(load8(rows + column * lanes)));
  }
  [[gnu::always_inline]] static F load_s8_float(const std::byte* rows, std::size_t column) noexcept {
    return to_float(_mm256_cvtepi8_epi32(load8(rows + column * lanes)));
  }

  // ---- rows of a file: fours[q] is somewhere in row 4q ----
  /// 16 bytes each of rows r and r + 4, `distance` being r rows.
  [[gnu::always_inline]] static I load_rows(const std::byte* const* fours, std::size_t distance) noexcept {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(x86::load16(fours[0] + distance)),
                                   x86::load16(fours[1] + distance), 1);
  }
  /// An f16 of each row.
  [[gnu::always_inline]] static F load_f16_rows(const std::byte* const* fours, std::size_t stride) noexcept {
    return _mm256_cvtph_ps(x86::halves_of_8(fours, stride));
  }
  [[gnu::always_inline]] static I broadcast16(const std::byte* p) noexcept {
    return _mm256_broadcastsi128_si256(x86::load16(p));
  }
  /// The sums over each row's four lanes; v[r] are rows r, r + 4.
  [[gnu::always_inline]] static I sum_rows(const I (&v)[4]) noexcept {
    const I even = add32(_mm256_unpacklo_epi32(v[0], v[1]), _mm256_unpackhi_epi32(v[0], v[1]));
    const I odd = add32(_mm256_unpacklo_epi32(v[2], v[3]), _mm256_unpackhi_epi32(v[2], v[3]));
    return add32(_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
  }

  // ---- codes to floats ----
  /// float(code - Offset) of the four low or high nibbles of each row.
  template <bool High, int Offset>
  [[gnu::always_inline]] static void nibble_floats(I v, F (&w)[4]) noexcept {
    if constexpr (High) v = _mm256_srli_epi16(v, 4);
    byte_floats<15, Offset>(_mm256_and_si256(v, bytes(15)), w);
  }
  /// float(code - Offset) of the four bytes of each row.
  template <int MaxCode, int Offset>
  [[gnu::always_inline]] static void byte_floats(I v, F (&w)[4]) noexcept {
    for (int i = 0; i < 4; ++i) {
      if constexpr (MaxCode < 0) {
        w[i] = _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * i), 24));
      } else {
        const int none = static_cast<int>(0x80808000);
        const I spread = _mm256_set_epi32(none + 12 + i, none + 8 + i, none + 4 + i, none + i, none + 12 + i,
                                          none + 8 + i, none + 4 + i, none + i);
        w[i] = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(v, spread));
        if constexpr (Offset != 0) w[i] = _mm256_sub_ps(w[i], _mm256_set1_ps(Offset));
      }
    }
  }

  // ---- dots ----
  /// Signed codes stay signed: |w| * (x with w's sign).
  static constexpr int signed_offset = 0;
  [[gnu::always_inline]] static I from_signed(I w) noexcept { return w; }

  /// A bias plus a running sum of Steps 4-byte dots. The bias joins at the end, where it needs no register before.
  /// vpmaddubsw adds two products in 16 bits, so codes up to MaxCode allow
  /// 32767 / (2 * 127 * MaxCode) of its results to be added before they are widened. Where that is not all of them, two
  /// at a time are: with 32-bit sums beside 16-bit ones a tile of tokens would not fit the registers.
  template <int MaxCode, int Steps>
  struct Dots {
    static constexpr int budget = 32767 / (2 * 127 * MaxCode);
    static_assert(budget >= 2, "vpmaddubsw's sums would saturate");
    static constexpr int folds = budget >= Steps ? Steps : 2;
    static constexpr int group = folds == Steps ? 1 : folds;
    I sum;
    I half;
    [[gnu::always_inline]] void start(I) noexcept {}
    template <int Step>
    [[gnu::always_inline]] void step(I w, I x) noexcept {
      const I pairs = _mm256_maddubs_epi16(w, x);
      half = Step % folds == 0 ? pairs : _mm256_add_epi16(half, pairs);
      if constexpr (Step % folds == folds - 1) {
        const I wide = _mm256_madd_epi16(half, _mm256_set1_epi16(1));
        sum = Step < folds ? wide : add32(sum, wide);
      }
    }
    [[gnu::always_inline]] I finish(I bias) const noexcept { return add32(sum, bias); }
  };

  /// The same in a loop of any length, in 16 bits: at most max_steps steps lie between start() and finish().
  template <int MaxCode>
  struct LoopDots {
    static constexpr std::size_t max_steps = 32767 / (2 * 127 * MaxCode);
    I half;
    [[gnu::always_inline]] void start() noexcept { half = zero_int(); }
    [[gnu::always_inline]] void step(I w, I x) noexcept { half = _mm256_add_epi16(half, _mm256_maddubs_epi16(w, x)); }
    [[gnu::always_inline]] I finish() const noexcept { return _mm256_madd_epi16(half, _mm256_set1_epi16(1)); }
    /// This sum and a quarter of another, in 16 bits.
    template <int Other>
    [[gnu::always_inline]] I finish_with_quarter(const LoopDots<Other>& other) const noexcept {
      return _mm256_madd_epi16(_mm256_add_epi16(half, _mm256_srai_epi16(other.half, 2)), _mm256_set1_epi16(1));
    }
  };

  // ---- ternary codes in f32 ----
  /// The low two bits of each row as float(code - 1).
  [[gnu::always_inline]] static F ternary_float(I v) noexcept {
    return _mm256_permutevar_ps(_mm256_setr_ps(-1, 0, 1, 2, -1, 0, 1, 2), v);
  }

  /// On Zen 3, which is as new as its CPUs without AVX-512 get, one token takes a third to a half less time without
  /// prefetches (q8_0 0.71 to 1.19 of DRAM, q4_0 0.88 to 0.97); with AVX-512 on Zen 5 they were a tenth faster.
  static constexpr bool follows_small_blocks = true;
  [[gnu::always_inline]] static void prefetch(const std::byte* p) noexcept {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }

 private:
  [[gnu::always_inline]] static __m128i load8(const std::byte* p) noexcept {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }
};

/// Signed codes, -128 included: |w| is at most 128 as an unsigned byte, x at most 127, so a pair is at most 32512 and
/// is widened at once.
template <int Steps>
struct Isa::Dots<-128, Steps> {
  static constexpr int group = 1;
  I sum;
  [[gnu::always_inline]] void start(I) noexcept {}
  template <int Step>
  [[gnu::always_inline]] void step(I w, I x) noexcept {
    const I pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    const I wide = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    sum = Step == 0 ? wide : add32(sum, wide);
  }
  [[gnu::always_inline]] I finish(I bias) const noexcept { return add32(sum, bias); }
};

}  // namespace
}  // namespace nibblas::avx2
