// SPDX-License-Identifier: Apache-2.0
#include "limits/kernels.hpp"

namespace nibblas::bench {

extern const LimitIsa kLimitSse2;
extern const LimitIsa kLimitAvx2;
extern const LimitIsa kLimitAvx512;

std::span<const LimitIsa* const> limit_isas() noexcept {
  static constexpr const LimitIsa* kAll[] = {&kLimitSse2, &kLimitAvx2, &kLimitAvx512};
  return kAll;
}

}  // namespace nibblas::bench
