// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/avx2/isa.hpp"

namespace nibblas::avx2 {
namespace {

struct Transposer {
  [[gnu::always_inline]] static void words4(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    words4_of_8(src, stride, out);
    words4_of_8(src + 8 * stride, stride, out + 32);
  }
  [[gnu::always_inline]] static void halves(const std::byte* words, std::byte* out) noexcept {
    const __m256i a = load32(words);
    const __m256i b = load32(words + 32);
    const __m256i mask = _mm256_set1_epi32(0xffff);
    // Packing works in 128-bit lanes: quarters 0, 2, 1, 3 come out as 0, 1, 2, 3.
    const __m256i low = _mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask));
    const __m256i high = _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16));
    store32(out, _mm256_permute4x64_epi64(low, 0xd8));
    store32(out + 32, _mm256_permute4x64_epi64(high, 0xd8));
  }
  [[gnu::always_inline]] static void bytes(const std::byte* words, std::byte* out) noexcept {
    // Byte i of a lane's four words side by side, then a 4 x 4 transposition of 32-bit pieces.
    const __m128i gather = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128i q[4];
    for (int i = 0; i < 4; ++i) {
      q[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 16 * i)), gather);
    }
    const __m128i low01 = _mm_unpacklo_epi32(q[0], q[1]);
    const __m128i low23 = _mm_unpacklo_epi32(q[2], q[3]);
    const __m128i high01 = _mm_unpackhi_epi32(q[0], q[1]);
    const __m128i high23 = _mm_unpackhi_epi32(q[2], q[3]);
    auto* to = reinterpret_cast<__m128i*>(out);
    _mm_storeu_si128(to, _mm_unpacklo_epi64(low01, low23));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi64(low01, low23));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi64(high01, high23));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi64(high01, high23));
  }

 private:
  /// Rows r and r + 4 share a register.
  [[gnu::always_inline]] static void words4_of_8(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    const std::byte* fours[] = {src, src + 4 * stride};
    const __m256i a = Isa::load_rows(fours, 0);
    const __m256i b = Isa::load_rows(fours, stride);
    const __m256i c = Isa::load_rows(fours, 2 * stride);
    const __m256i d = Isa::load_rows(fours, 3 * stride);
    const __m256i ab_low = _mm256_unpacklo_epi32(a, b);
    const __m256i ab_high = _mm256_unpackhi_epi32(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi32(c, d);
    const __m256i cd_high = _mm256_unpackhi_epi32(c, d);
    store32(out, _mm256_unpacklo_epi64(ab_low, cd_low));
    store32(out + 64, _mm256_unpackhi_epi64(ab_low, cd_low));
    store32(out + 128, _mm256_unpacklo_epi64(ab_high, cd_high));
    store32(out + 192, _mm256_unpackhi_epi64(ab_high, cd_high));
  }
  [[gnu::always_inline]] static __m256i load32(const std::byte* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  [[gnu::always_inline]] static void store32(std::byte* p, __m256i v) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
};

}  // namespace
}  // namespace nibblas::avx2
