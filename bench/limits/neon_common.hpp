// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arm_neon.h>

#include "limits/kernels.hpp"
#include "limits/read_streams.hpp"

// What the two aarch64 files share. Local and V are different types in each file, so nothing is merged by the linker.

namespace nibblas::bench {
namespace {

struct Local {
  static constexpr int kChains = 16;
};

struct V {
  using Reg = uint8x16_t;
  static constexpr std::size_t kBytes = 16;
  static Reg zero() noexcept { return vdupq_n_u8(0); }
  static Reg load(const std::byte* p) noexcept { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)); }
  static Reg fold(Reg a, Reg b) noexcept { return veorq_u8(a, b); }
  static std::uint64_t finish(Reg r) noexcept { return vgetq_lane_u64(vreinterpretq_u64_u8(r), 0); }
  static void prefetch(const std::byte* p) noexcept { __builtin_prefetch(p); }
};

}  // namespace

template <class L>
double neon_f32(std::uint64_t rounds, float* sink) noexcept {
  const float32x4_t half = vdupq_n_f32(0.5f);
  float32x4_t c[L::kChains];
  for (int i = 0; i < L::kChains; ++i) c[i] = vdupq_n_f32(static_cast<float>(i));
  for (std::uint64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < L::kChains; ++i) c[i] = vfmaq_f32(c[i], half, half);
  }
  for (int i = 1; i < L::kChains; ++i) c[0] = vaddq_f32(c[0], c[i]);
  *sink = vgetq_lane_f32(c[0], 0);
  return static_cast<double>(rounds) * L::kChains * 4 * 2;
}

}  // namespace nibblas::bench
