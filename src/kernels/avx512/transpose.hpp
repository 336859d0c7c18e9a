// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/avx512/isa.hpp"

namespace nibblas::avx512 {
namespace {

struct Transposer {
  /// Rows r, r + 4, r + 8, r + 12 share a register, so two rounds of unpacking inside 128-bit lanes put row i's words
  /// into lane i.
  [[gnu::always_inline]] static void words4(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    const std::byte* fours[] = {src, src + 4 * stride, src + 8 * stride, src + 12 * stride};
    const __m512i a = Isa::load_rows(fours, 0);
    const __m512i b = Isa::load_rows(fours, stride);
    const __m512i c = Isa::load_rows(fours, 2 * stride);
    const __m512i d = Isa::load_rows(fours, 3 * stride);
    const __m512i ab_low = _mm512_unpacklo_epi32(a, b);
    const __m512i ab_high = _mm512_unpackhi_epi32(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi32(c, d);
    const __m512i cd_high = _mm512_unpackhi_epi32(c, d);
    _mm512_storeu_si512(out, _mm512_unpacklo_epi64(ab_low, cd_low));
    _mm512_storeu_si512(out + 64, _mm512_unpackhi_epi64(ab_low, cd_low));
    _mm512_storeu_si512(out + 128, _mm512_unpacklo_epi64(ab_high, cd_high));
    _mm512_storeu_si512(out + 192, _mm512_unpackhi_epi64(ab_high, cd_high));
  }
  [[gnu::always_inline]] static void halves(const std::byte* words, std::byte* out) noexcept {
    const __m512i w = _mm512_loadu_si512(words);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(w));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32), _mm512_cvtepi32_epi16(_mm512_srli_epi32(w, 16)));
  }
  [[gnu::always_inline]] static void bytes(const std::byte* words, std::byte* out) noexcept {
    const __m512i w = _mm512_loadu_si512(words);
    auto* to = reinterpret_cast<__m128i*>(out);
    _mm_storeu_si128(to, _mm512_cvtepi32_epi8(w));
    _mm_storeu_si128(to + 1, _mm512_cvtepi32_epi8(_mm512_srli_epi32(w, 8)));
    _mm_storeu_si128(to + 2, _mm512_cvtepi32_epi8(_mm512_srli_epi32(w, 16)));
    _mm_storeu_si128(to + 3, _mm512_cvtepi32_epi8(_mm512_srli_epi32(w, 24)));
  }
};

}  // namespace
}  // namespace nibblas::avx512
