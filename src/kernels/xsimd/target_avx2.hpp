// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <xsimd/xsimd.hpp>

// xsimd's fma3<avx2> under a name of this translation unit's own. Every xsimd template that the kernels use has it as
// an argument, so what the compiler leaves out of line has internal linkage, and no other object's copy can replace it.

namespace nibblas::xsimd_kernels {
namespace {

struct Avx2Narrow : ::xsimd::sse2 {};

struct Avx2 : ::xsimd::fma3<::xsimd::avx2> {
  static constexpr char provider[] = "xsimd_avx2";
  static constexpr std::size_t registers = 16;
  using Narrow = Avx2Narrow;

  template <class F>
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept {
    return ::xsimd::fma(a, b, c);
  }
  template <class F>
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept {
    return ::xsimd::fnma(a, b, c);
  }
  [[gnu::always_inline]] static __m256i widen(const std::uint8_t* p) noexcept {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static __m256i widen(const std::int8_t* p) noexcept {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static __m256i widen(const std::uint16_t* p) noexcept {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static __m256 load_f16(const std::byte* p) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};

}  // namespace
}  // namespace nibblas::xsimd_kernels

namespace xsimd::types {
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(nibblas::xsimd_kernels::Avx2, fma3<avx2>);
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(nibblas::xsimd_kernels::Avx2Narrow, sse2);
}  // namespace xsimd::types
