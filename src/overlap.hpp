// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

// Do two operands share memory? Decided by their addresses alone.

namespace nibblas {

/// Runs of `width` bytes at two levels of equal distances: the rows of a matrix, the matrices of a stack.
struct Runs {
  struct Level {
    std::size_t stride = 0;  ///< bytes
    std::size_t count = 1;
  };

  std::uintptr_t begin = 0;
  std::size_t width = 0;
  Level inner;
  Level outer;

  /// The same matrix `count` times, `stride` bytes apart.
  Runs times(std::size_t count, std::size_t stride) const noexcept { return {begin, width, inner, {stride, count}}; }
};

/// Operands must be checked: their sizes do not overflow.
Runs runs_of(std::span<const std::byte> bytes) noexcept;
Runs runs_of(const ConstMatrixView& m) noexcept;
Runs runs_of(const WeightView& w) noexcept;

/// Exact for rows and stacks that are nested, interleaved or apart in any way. Layouts so tangled that 2^16 steps do
/// not decide count as apart.
bool meet(const Runs& a, const Runs& b) noexcept;

/// invalid_argument naming both when they meet.
Status check_apart(const char* a_name, const Runs& a, const char* b_name, const Runs& b) noexcept;

}  // namespace nibblas
