// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include "kernels/common/prepare.hpp"

namespace nibblas::avx512 {
namespace {

struct Quantiser {
  [[gnu::always_inline]] static bool amax32(const float* x, float& amax) noexcept {
    const __m512 a = _mm512_abs_ps(_mm512_loadu_ps(x));
    const __m512 b = _mm512_abs_ps(_mm512_loadu_ps(x + 16));
    const __m512 limit = _mm512_set1_ps(std::numeric_limits<float>::max());
    const __mmask16 finite = _mm512_cmp_ps_mask(a, limit, _CMP_LE_OQ) & _mm512_cmp_ps_mask(b, limit, _CMP_LE_OQ);
    const float m = _mm512_reduce_max_ps(_mm512_max_ps(a, b));
    if (m > amax) amax = m;
    return finite == 0xffff;
  }

  [[gnu::always_inline]] static Q8Sums codes32(const float* x, float id, std::int8_t* codes) noexcept {
    const __m512 scale = _mm512_set1_ps(id);
    const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), scale));
    const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), scale));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes), _mm512_cvtepi32_epi8(low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16), _mm512_cvtepi32_epi8(high));
    return {_mm512_reduce_add_epi32(low), _mm512_reduce_add_epi32(high)};
  }
};

}  // namespace
}  // namespace nibblas::avx512
