// SPDX-License-Identifier: Apache-2.0
#include "limits/neon_common.hpp"

namespace nibblas::bench {
namespace {

constexpr int kChains = 16;

double int8(std::uint64_t rounds, std::int32_t* sink) noexcept {
  const int8x16_t a = vdupq_n_s8(5);
  int32x4_t c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = vdupq_n_s32(i);
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) c[i] = vdotq_s32(c[i], a, a);
  }
  for (int i = 1; i < kChains; ++i) c[0] = vaddq_s32(c[0], c[i]);
  *sink = vgetq_lane_s32(c[0], 0);
  return static_cast<double>(rounds) * kChains * 16 * 2;
}

}  // namespace

extern const LimitIsa kLimitDotprod;
constinit const LimitIsa kLimitDotprod{
    "dotprod",     "fmla v.4s",     "sdot v.4s", CpuFeatures{}.with(CpuFeature::dotprod),
    CpuFeatures{}, neon_f32<Local>, int8,        read_any<V>};

}  // namespace nibblas::bench
