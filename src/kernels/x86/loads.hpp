// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Loads into 128 bits, which every wider x86 instruction set builds its own on.

namespace nibblas::x86 {
namespace {

[[gnu::always_inline]] inline __m128i load16(const std::byte* p) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

[[gnu::always_inline]] inline std::uint16_t half(const std::byte* p) noexcept {
  std::uint16_t v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/// A half of each of 8 rows, `stride` apart; fours[q] is in row 4q.
[[gnu::always_inline]] inline __m128i halves_of_8(const std::byte* const* fours, std::size_t stride) noexcept {
  __m128i v = _mm_cvtsi32_si128(half(fours[0]));
  v = _mm_insert_epi16(v, half(fours[0] + stride), 1);
  v = _mm_insert_epi16(v, half(fours[0] + 2 * stride), 2);
  v = _mm_insert_epi16(v, half(fours[0] + 3 * stride), 3);
  v = _mm_insert_epi16(v, half(fours[1]), 4);
  v = _mm_insert_epi16(v, half(fours[1] + stride), 5);
  v = _mm_insert_epi16(v, half(fours[1] + 2 * stride), 6);
  return _mm_insert_epi16(v, half(fours[1] + 3 * stride), 7);
}

}  // namespace
}  // namespace nibblas::x86
