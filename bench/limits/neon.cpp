// SPDX-License-Identifier: Apache-2.0
#include "limits/neon_common.hpp"

// The aarch64 baseline, so also the limit of the scalar provider there.

namespace nibblas::bench {
namespace {

constexpr int kChains = 16;

double int8(std::uint64_t rounds, std::int32_t* sink) noexcept {
  const int8x8_t a = vdup_n_s8(5);
  int16x8_t c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = vdupq_n_s16(static_cast<std::int16_t>(i));
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) c[i] = vmlal_s8(c[i], a, a);
  }
  for (int i = 1; i < kChains; ++i) c[0] = vaddq_s16(c[0], c[i]);
  *sink = vgetq_lane_s16(c[0], 0);
  return static_cast<double>(rounds) * kChains * 8 * 2;
}

}  // namespace

extern const LimitIsa kLimitNeon;
constinit const LimitIsa kLimitNeon{"neon",        "fmla v.4s",     "smlal v.8h", CpuFeatures{},
                                    CpuFeatures{}, neon_f32<Local>, int8,         read_any<V>};

}  // namespace nibblas::bench
