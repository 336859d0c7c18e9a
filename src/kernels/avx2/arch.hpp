// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/avx2/isa.hpp"
#include "kernels/avx2/quantiser.hpp"
#include "kernels/avx2/transpose.hpp"

namespace nibblas::avx2 {
namespace {

/// What the kernels of kernel_list.hpp are made of. 16 registers: 6 x 2 sums leave 4 for weights and x; the codes of
/// one column are 8.
struct Arch {
  static constexpr char name[] = "avx2";
  using Isa = avx2::Isa;
  using Transposer = avx2::Transposer;
  using Quantiser = avx2::Quantiser;
  static constexpr std::size_t kFloatTokens = 6;
  static constexpr std::size_t kFewTokens = 2;
  static constexpr std::size_t kInt8Columns = 2;
  static constexpr std::size_t kInt8Tokens = 2;
  static constexpr std::size_t kTernaryTokens = 4;
};

}  // namespace
}  // namespace nibblas::avx2
