// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/xsimd/isa.hpp"
#include "kernels/xsimd/quantiser.hpp"
#include "kernels/xsimd/transpose.hpp"

namespace nibblas::xsimd_kernels {
namespace {

/// What the kernels of kernel_list.hpp are made of, on any xsimd architecture. `Target` is the one of isa.hpp, with
/// `name`, `Narrow` (see transpose.hpp) and the number of vector registers.
template <class Target>
struct Arch {
  static constexpr const auto& name = Target::provider;
  using Isa = xsimd_kernels::Isa<Target>;
  using Transposer = xsimd_kernels::Transposer<typename Target::Narrow>;
  using Quantiser = xsimd_kernels::Quantiser<Target>;
  static constexpr std::size_t kFloatTokens = Target::registers == 32 ? 12 : 6;
  static constexpr std::size_t kFewTokens = Isa::lanes == 16 ? 4 : Isa::lanes == 8 ? 2 : 1;
  static constexpr std::size_t kInt8Columns = 2;
  static constexpr std::size_t kInt8Tokens = 1;
  static constexpr std::size_t kTernaryTokens = Target::registers == 32 ? 8 : 4;
};

}  // namespace
}  // namespace nibblas::xsimd_kernels
