// SPDX-License-Identifier: Apache-2.0
#include "limits/kernels.hpp"

namespace nibblas::bench {

extern const LimitIsa kLimitNeon;
extern const LimitIsa kLimitDotprod;

std::span<const LimitIsa* const> limit_isas() noexcept {
  static constexpr const LimitIsa* kAll[] = {&kLimitNeon, &kLimitDotprod};
  return kAll;
}

}  // namespace nibblas::bench
