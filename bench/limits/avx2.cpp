// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "limits/kernels.hpp"
#include "limits/read_streams.hpp"

namespace nibblas::bench {
namespace {

constexpr int kChains = 12;  // latency 4 or 5 x two a cycle, within 16 registers

double f32(std::uint64_t rounds, float* sink) noexcept {
  const __m256 half = _mm256_set1_ps(0.5f);
  const __m256 one = _mm256_set1_ps(1.0f);
  __m256 c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = _mm256_set1_ps(static_cast<float>(i));
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) c[i] = _mm256_fmadd_ps(c[i], half, one);
  }
  for (int i = 1; i < kChains; ++i) c[0] = _mm256_add_ps(c[0], c[i]);
  *sink = _mm256_cvtss_f32(c[0]);
  return static_cast<double>(rounds) * kChains * 8 * 2;
}

double int8(std::uint64_t rounds, std::int32_t* sink) noexcept {
  constexpr int kSums = 8;
  const __m256i factor = _mm256_set1_epi8(3);
  __m256i codes = _mm256_set1_epi8(5);
  __m256i c[kSums];
  for (int i = 0; i < kSums; ++i) c[i] = _mm256_set1_epi32(i);
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) {
      asm("" : "+x"(codes));  // "changed": every product is computed anew
      c[i] = _mm256_add_epi16(c[i], _mm256_maddubs_epi16(codes, factor));
    }
  }
  for (int i = 1; i < kSums; ++i) c[0] = _mm256_add_epi16(c[0], c[i]);
  *sink = _mm256_extract_epi32(c[0], 0);
  return static_cast<double>(rounds) * kSums * 32 * 2;
}

struct V {
  using Reg = __m256i;
  static constexpr std::size_t kBytes = 32;
  static Reg zero() noexcept { return _mm256_setzero_si256(); }
  static Reg load(const std::byte* p) noexcept { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }
  static Reg fold(Reg a, Reg b) noexcept { return _mm256_xor_si256(a, b); }
  static std::uint64_t finish(Reg r) noexcept { return static_cast<std::uint64_t>(_mm256_extract_epi64(r, 0)); }
  static void prefetch(const std::byte* p) noexcept { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace

extern const LimitIsa kLimitAvx2;
constinit const LimitIsa kLimitAvx2{"avx2",
                                    "vfmadd ymm",
                                    "vpmaddubsw + vpaddw ymm",
                                    CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::fma),
                                    CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::fma),
                                    f32,
                                    int8,
                                    read_any<V>};

}  // namespace nibblas::bench
