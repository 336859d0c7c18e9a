// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nibblas/matmul.hpp"

namespace nibblas {

/// Makes Activations: in the caller's scratch, or in memory of their own.
struct ActivationsBuilder {
  /// memory: Activations::bytes(), 64-byte aligned; it must outlive `out`.
  static void fill(Activations& out, const Kernel& kernel, ConstMatrixView X, Compute compute, std::byte* memory,
                   Executor& executor) noexcept;
  static Status fill_own(Activations& out, const Kernel& kernel, ConstMatrixView X, Compute compute,
                         Executor& executor) noexcept;
};

}  // namespace nibblas
