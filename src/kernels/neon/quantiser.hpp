// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arm_neon.h>

#include "kernels/common/prepare.hpp"

namespace nibblas::neon {
namespace {

struct Quantiser {
  [[gnu::always_inline]] static bool amax32(const float* x, float& amax) noexcept {
    const float32x4_t limit = vdupq_n_f32(std::numeric_limits<float>::max());
    float32x4_t largest = vdupq_n_f32(0);
    uint32x4_t finite = vdupq_n_u32(0xffffffff);
    for (int i = 0; i < 8; ++i) {
      const float32x4_t v = vabsq_f32(vld1q_f32(x + 4 * i));
      finite = vandq_u32(finite, vcleq_f32(v, limit));
      largest = vmaxq_f32(largest, v);
    }
    const float m = vmaxvq_f32(largest);
    if (m > amax) amax = m;
    return vminvq_u32(finite) != 0;
  }

  [[gnu::always_inline]] static Q8Sums codes32(const float* x, float id, std::int8_t* codes) noexcept {
    return {codes16(x, id, codes), codes16(x + 16, id, codes + 16)};
  }

 private:
  [[gnu::always_inline]] static std::int32_t codes16(const float* x, float id, std::int8_t* codes) noexcept {
    int32x4_t q[4];
    for (int i = 0; i < 4; ++i) q[i] = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x + 4 * i), vdupq_n_f32(id)));
    const int16x8_t low = vcombine_s16(vmovn_s32(q[0]), vmovn_s32(q[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(q[2]), vmovn_s32(q[3]));
    vst1q_s8(codes, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
    return vaddvq_s32(vaddq_s32(vaddq_s32(q[0], q[1]), vaddq_s32(q[2], q[3])));
  }
};

}  // namespace
}  // namespace nibblas::neon
