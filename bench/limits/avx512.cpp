// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "limits/kernels.hpp"
#include "limits/read_streams.hpp"

namespace nibblas::bench {
namespace {

constexpr int kChains = 16;  // latency 4 or 5 x two a cycle

double f32(std::uint64_t rounds, float* sink) noexcept {
  const __m512 half = _mm512_set1_ps(0.5f);
  const __m512 one = _mm512_set1_ps(1.0f);
  __m512 c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) c[i] = _mm512_fmadd_ps(c[i], half, one);
  }
  for (int i = 1; i < kChains; ++i) c[0] = _mm512_add_ps(c[0], c[i]);
  *sink = _mm512_cvtss_f32(c[0]);
  return static_cast<double>(rounds) * kChains * 16 * 2;
}

double int8(std::uint64_t rounds, std::int32_t* sink) noexcept {
  const __m512i a = _mm512_set1_epi8(5);
  const __m512i b = _mm512_set1_epi8(-3);
  __m512i c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = _mm512_set1_epi32(i);
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) c[i] = _mm512_dpbusd_epi32(c[i], a, b);
  }
  for (int i = 1; i < kChains; ++i) c[0] = _mm512_add_epi32(c[0], c[i]);
  alignas(64) std::int32_t lanes[16];  // through memory: gcc 12 warns about its own extracting intrinsics
  _mm512_store_si512(lanes, c[0]);
  *sink = lanes[0];
  return static_cast<double>(rounds) * kChains * 64 * 2;
}

struct V {
  using Reg = __m512i;
  static constexpr std::size_t kBytes = 64;
  static Reg zero() noexcept { return _mm512_setzero_si512(); }
  static Reg load(const std::byte* p) noexcept { return _mm512_load_si512(p); }
  static Reg fold(Reg a, Reg b) noexcept { return _mm512_xor_si512(a, b); }
  static std::uint64_t finish(Reg r) noexcept {
    alignas(64) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, r);
    return lanes[0];
  }
  static void prefetch(const std::byte* p) noexcept { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }
};

}  // namespace

extern const LimitIsa kLimitAvx512;
constinit const LimitIsa kLimitAvx512{"avx512",
                                      "vfmadd zmm",
                                      "vpdpbusd zmm",
                                      CpuFeatures{}.with(CpuFeature::avx512f).with(CpuFeature::avx512vnni),
                                      CpuFeatures{}.with(CpuFeature::avx512f),
                                      f32,
                                      int8,
                                      read_any<V>};

}  // namespace nibblas::bench
