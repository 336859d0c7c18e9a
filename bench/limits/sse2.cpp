// SPDX-License-Identifier: Apache-2.0
#include <emmintrin.h>

#include "limits/kernels.hpp"
#include "limits/read_streams.hpp"

// The x86-64 baseline: what portable code may use, so the limit of the scalar provider.

namespace nibblas::bench {
namespace {

constexpr int kChains = 12;  // latency 7 x two pairs a cycle, within 16 registers

double f32(std::uint64_t rounds, float* sink) noexcept {
  const __m128 half = _mm_set1_ps(0.5f);
  const __m128 one = _mm_set1_ps(1.0f);
  __m128 c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = _mm_set1_ps(static_cast<float>(i));
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) c[i] = _mm_add_ps(_mm_mul_ps(c[i], half), one);
  }
  for (int i = 1; i < kChains; ++i) c[0] = _mm_add_ps(c[0], c[i]);
  *sink = _mm_cvtss_f32(c[0]);
  return static_cast<double>(rounds) * kChains * 4 * 2;
}

double int8(std::uint64_t rounds, std::int32_t* sink) noexcept {
  constexpr int kSums = 8;
  const __m128i factor = _mm_set1_epi16(3);
  __m128i codes = _mm_set1_epi16(5);
  __m128i c[kSums];
  for (int i = 0; i < kSums; ++i) c[i] = _mm_set1_epi32(i);
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) {
      asm("" : "+x"(codes));  // "changed": every product is computed anew
      c[i] = _mm_add_epi32(c[i], _mm_madd_epi16(codes, factor));
    }
  }
  for (int i = 1; i < kSums; ++i) c[0] = _mm_add_epi32(c[0], c[i]);
  *sink = _mm_cvtsi128_si32(c[0]);
  return static_cast<double>(rounds) * kSums * 8 * 2;
}

struct V {
  using Reg = __m128i;
  static constexpr std::size_t kBytes = 16;
  static Reg zero() noexcept { return _mm_setzero_si128(); }
  static Reg load(const std::byte* p) noexcept { return _mm_load_si128(reinterpret_cast<const __m128i*>(p)); }
  static Reg fold(Reg a, Reg b) noexcept { return _mm_xor_si128(a, b); }
  static std::uint64_t finish(Reg r) noexcept { return static_cast<std::uint64_t>(_mm_cvtsi128_si64(r)); }
  static void prefetch(const std::byte* p) noexcept { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace

extern const LimitIsa kLimitSse2;
constinit const LimitIsa kLimitSse2{
    "sse2", "mulps + addps xmm", "pmaddwd + paddd xmm", CpuFeatures{}, CpuFeatures{}, f32, int8, read_any<V>};

}  // namespace nibblas::bench
