// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include "kernels/common/prepare.hpp"

namespace nibblas::avx2 {
namespace {

struct Quantiser {
  [[gnu::always_inline]] static bool amax32(const float* x, float& amax) noexcept {
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    const __m256 limit = _mm256_set1_ps(std::numeric_limits<float>::max());
    __m256 largest = _mm256_setzero_ps();
    __m256 finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    for (int i = 0; i < 4; ++i) {
      const __m256 v = _mm256_and_ps(_mm256_loadu_ps(x + 8 * i), magnitude);
      finite = _mm256_and_ps(finite, _mm256_cmp_ps(v, limit, _CMP_LE_OQ));
      largest = _mm256_max_ps(largest, v);
    }
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(largest), _mm256_extractf128_ps(largest, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    m = _mm_max_ss(m, _mm_movehdup_ps(m));
    if (_mm_cvtss_f32(m) > amax) amax = _mm_cvtss_f32(m);
    return _mm256_movemask_ps(finite) == 0xff;
  }

  [[gnu::always_inline]] static Q8Sums codes32(const float* x, float id, std::int8_t* codes) noexcept {
    const __m256 scale = _mm256_set1_ps(id);
    __m256i q[4];
    for (int i = 0; i < 4; ++i) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), scale));
    // The packs work in 128-bit lanes; the permutation puts their 4-byte pieces back in order.
    const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_permutevar8x32_epi32(packed, order));
    return {sum(_mm256_add_epi32(q[0], q[1])), sum(_mm256_add_epi32(q[2], q[3]))};
  }

 private:
  [[gnu::always_inline]] static std::int32_t sum(__m256i v) noexcept {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return _mm_cvtsi128_si32(s);
  }
};

}  // namespace
}  // namespace nibblas::avx2
