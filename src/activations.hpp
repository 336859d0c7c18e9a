// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arithmetic.hpp"
#include "nibblas/matmul.hpp"

namespace nibblas {

/// Makes Activations: in the caller's scratch, or in memory of their own.
struct ActivationsBuilder {
  /// Prepared ones that lie in `memory` already, or will.
  static void place(Activations& out, std::size_t M, std::size_t K, Compute compute, const std::byte* memory) noexcept;
  /// memory: Activations::bytes(), 64-byte aligned; it must outlive `out`.
  static void fill(Activations& out, const Kernel& kernel, ConstMatrixView X, std::byte* memory,
                   Executor& executor) noexcept;
  /// `count` matrices x_stride elements apart go to memory + i * Activations::bytes(), as one list of tasks.
  static void fill_stack(std::size_t count, const Kernel& kernel, ConstMatrixView X, std::size_t x_stride,
                         std::byte* memory, Executor& executor) noexcept;
  static Status fill_own(Activations& out, const Kernel& kernel, ConstMatrixView X, Executor& executor) noexcept;
};

}  // namespace nibblas
