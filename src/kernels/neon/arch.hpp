// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/neon/quantiser.hpp"
#include "kernels/neon/transpose.hpp"

namespace nibblas::neon {
namespace {

/// What the kernels of kernel_list.hpp are made of, but for the name and the dots. 32 registers: 8 x 2 float sums leave
/// room for weights and x; the codes of one column are 8, beside four tokens' x, dots and sums.
struct Arch {
  using Transposer = neon::Transposer;
  using Quantiser = neon::Quantiser;
  static constexpr std::size_t kFloatTokens = 8;
  static constexpr std::size_t kFewTokens = 1;
  static constexpr std::size_t kInt8Columns = 1;
  static constexpr std::size_t kInt8Tokens = 4;
};

}  // namespace
}  // namespace nibblas::neon
