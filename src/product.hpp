// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "arithmetic.hpp"
#include "nibblas/matmul.hpp"
#include "overlap.hpp"

// What the entry points of matmul.hpp share: checking a request, choosing its kernel. No threads.

namespace nibblas {

/// Elements of a matrix: far beyond any memory, far below where sizes of packed weights or activations could wrap.
inline constexpr std::size_t kMaxElements = std::size_t{1} << (sizeof(std::size_t) * 8 - 8);

/// W in either form.
struct WeightSource {
  const WeightView* view = nullptr;
  const PackedWeights* packed = nullptr;

  DType dtype() const noexcept { return view != nullptr ? view->dtype : packed->dtype(); }
  std::size_t N() const noexcept { return view != nullptr ? view->N : packed->N(); }
  std::size_t K() const noexcept { return view != nullptr ? view->K : packed->K(); }
  /// 0: rows as in the file.
  std::uint32_t layout_id() const noexcept { return view != nullptr ? 0 : packed->layout_id(); }
};

KernelRegistry& registry_of(const Context& context) noexcept;
Executor& executor_of(const Context& context) noexcept;
const CacheInfo& caches_of(const Context& context) noexcept;

Status check_weights(const WeightSource& w) noexcept;
/// Pointer, stride and size of X or Y; `name` is for the message.
Status check_matrix(const char* name, const ConstMatrixView& m) noexcept;
/// X (M x K) and Y (M x N) against W.
Status check_shapes(const WeightSource& w, std::size_t x_rows, std::size_t x_cols, const MatrixView& y) noexcept;

KernelRequest request_for(const WeightSource& w, std::size_t M, const MatmulOptions& options) noexcept;
/// Errors: unsupported, not_found, a bad registry config.
Result<const Kernel*> choose_kernel(const Context& context, const KernelRequest& request) noexcept;
/// The best kernel that works on panels, whatever serves rows.
Result<const Kernel*> choose_tiled(const Context& context, DType weights, Compute compute) noexcept;

/// What only the chosen kernel knows about W.
Status check_kernel(const Kernel& kernel, const WeightSource& w) noexcept;

Runs runs_of(const WeightSource& w) noexcept;
/// Y is written while X and W are read, and so is the workspace. Errors: invalid_argument.
Status check_apart(const Runs& w, const Runs& x, const Runs& y, const Context& context) noexcept;

/// `bytes` of workspace; shape_mismatch for SIZE_MAX.
Result<std::size_t> addressable(std::size_t bytes) noexcept;
/// Errors: those of addressable(); out_of_memory; buffer_too_small or invalid_argument for memory of the caller.
Result<std::byte*> reserve(Context& context, std::size_t bytes) noexcept;

void zero(const MatrixView& y) noexcept;

}  // namespace nibblas
