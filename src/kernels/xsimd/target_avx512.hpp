// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <xsimd/xsimd.hpp>

// xsimd's avx512bw under a name of this translation unit's own; target_avx2.hpp says why.

namespace nibblas::xsimd_kernels {
namespace {

struct Avx512Narrow : ::xsimd::sse2 {};

struct Avx512 : ::xsimd::avx512bw {
  static constexpr char provider[] = "xsimd_avx512";
  static constexpr std::size_t registers = 32;
  using Narrow = Avx512Narrow;

  /// xsimd 8.1 has only a product and a sum here, which round twice.
  template <class F>
  [[gnu::always_inline]] static F fma(F a, F b, F c) noexcept {
    return _mm512_fmadd_ps(a, b, c);
  }
  template <class F>
  [[gnu::always_inline]] static F fnma(F a, F b, F c) noexcept {
    return _mm512_fnmadd_ps(a, b, c);
  }
  [[gnu::always_inline]] static __m512i widen(const std::uint8_t* p) noexcept {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static __m512i widen(const std::int8_t* p) noexcept {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  [[gnu::always_inline]] static __m512i widen(const std::uint16_t* p) noexcept {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  [[gnu::always_inline]] static __m512 load_f16(const std::byte* p) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
};

}  // namespace
}  // namespace nibblas::xsimd_kernels

namespace xsimd::types {
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(nibblas::xsimd_kernels::Avx512, avx512bw);
XSIMD_DECLARE_SIMD_REGISTER_ALIAS(nibblas::xsimd_kernels::Avx512Narrow, sse2);
template <class T>
struct get_bool_simd_register<T, nibblas::xsimd_kernels::Avx512> : get_bool_simd_register<T, avx512bw> {};
}  // namespace xsimd::types
