// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/avx512/isa.hpp"
#include "kernels/avx512/quantiser.hpp"
#include "kernels/avx512/transpose.hpp"

namespace nibblas::avx512 {
namespace {

/// What the kernels of kernel_list.hpp are made of. 32 registers: 12 x 2 sums leave 8 for weights and x; the codes of
/// two columns are 16.
struct Arch {
  static constexpr char name[] = "avx512";
  using Isa = avx512::Isa;
  using Transposer = avx512::Transposer;
  using Quantiser = avx512::Quantiser;
  static constexpr std::size_t kFloatTokens = 12;
  static constexpr std::size_t kFewTokens = 4;
  static constexpr std::size_t kInt8Columns = 2;
  static constexpr std::size_t kInt8Tokens = 1;
  static constexpr std::size_t kTernaryTokens = 8;
};

}  // namespace
}  // namespace nibblas::avx512
