// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "nibblas/matmul.hpp"

namespace nibblas {

/// Products of one shape that lie at equal distances, as the heads of an attention layer do:
/// Y_i[M x N] = X_i[M x K] * W_i[N x K]^T for i < count. W, X and Y are those of product 0; product i is so many
/// strides further on. The views themselves may have row strides, so heads may be interleaved: Y[M][heads][N] has
/// Y.stride = heads * N and y_stride = N.
struct MatmulStack {
  std::size_t count = 0;
  WeightView W = {};         ///< W.bytes is the extent of one product's weights
  std::size_t w_stride = 0;  ///< bytes; 0: all products use the same W
  ConstMatrixView X = {};
  std::size_t x_stride = 0;  ///< elements; 0: all products use the same X, which is prepared once
  MatrixView Y = {};
  std::size_t y_stride = 0;  ///< elements; no two products may write the same element
};

/// All products of the stack as one list of tasks: threads go from one to the next without meeting. The bits are those
/// of `count` calls of matmul(). No Y_i shares memory with any W_j or X_j, nor the workspace with any of them. Errors:
/// as matmul(), and invalid_argument when products overlap in Y. Y is untouched on error, with one exception: a whole
/// kernel from outside runs product by product, and where product i fails, Y_0 to Y_(i - 1) are written.
NIBBLAS_API Status matmul_batched(const MatmulStack& stack, Context& context,
                                  const MatmulOptions& options = {}) noexcept;

/// The same with packed weights, one for each product and all of one format, shape and layout; stack.count, W and
/// w_stride are not looked at.
NIBBLAS_API Status matmul_batched(std::span<const PackedWeights> W, const MatmulStack& stack, Context& context,
                                  const MatmulOptions& options = {}) noexcept;

/// Bytes of workspace that the stack needs in this context. The strides and the pointers are checked as in the product.
NIBBLAS_API Result<std::size_t> workspace_size(const MatmulStack& stack, Context& context,
                                               const MatmulOptions& options = {}) noexcept;
/// The same for packed weights; another plan than that of views, so another size.
NIBBLAS_API Result<std::size_t> workspace_size(std::span<const PackedWeights> W, const MatmulStack& stack,
                                               Context& context, const MatmulOptions& options = {}) noexcept;

}  // namespace nibblas
