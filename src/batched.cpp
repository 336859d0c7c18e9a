// SPDX-License-Identifier: Apache-2.0
#include "nibblas/batched.hpp"

#include "activations.hpp"
#include "driver.hpp"
#include "product.hpp"
#include "status_message.hpp"
#include "whole.hpp"

namespace nibblas {
namespace {

/// W_i, X_i and Y_i of a stack that is checked.
class Stack {
 public:
  Stack(const MatmulStack& stack, std::span<const PackedWeights> packed) noexcept
      : stack_(stack), packed_(packed), count_(packed.empty() ? stack.count : packed.size()) {}

  std::size_t count() const noexcept { return count_; }
  WeightSource weights(std::size_t i, WeightView& store) const noexcept {
    if (!packed_.empty()) return {nullptr, &packed_[i]};
    store = stack_.W;
    store.data += i * stack_.w_stride;
    return {&store, nullptr};
  }
  ConstMatrixView x(std::size_t i) const noexcept {
    ConstMatrixView v = stack_.X;
    v.data += i * stack_.x_stride;
    return v;
  }
  MatrixView y(std::size_t i) const noexcept {
    MatrixView v = stack_.Y;
    v.data += i * stack_.y_stride;
    return v;
  }
  /// Matrices of X that are prepared.
  std::size_t prepared() const noexcept { return stack_.x_stride == 0 ? 1 : count_; }

 private:
  const MatmulStack& stack_;
  std::span<const PackedWeights> packed_;
  std::size_t count_;
};

class StackItems final : public ProductItems {
 public:
  StackItems(const Stack& stack, Compute compute, const ConstMatrixView& x, const std::byte* activations) noexcept
      : ProductItems(stack.count()), stack_(stack), compute_(compute), x_(x), activations_(activations) {}

  ProductItem at(std::size_t i, Store& store) const noexcept override {
    const std::size_t matrix = stack_.prepared() == 1 ? 0 : i;
    ActivationsBuilder::place(store.x, x_.rows, x_.cols, compute_,
                              activations_ + matrix * Activations::bytes(compute_, x_.rows, x_.cols));
    return {stack_.weights(i, store.w), &store.x, stack_.y(i)};
  }

 private:
  const Stack& stack_;
  Compute compute_;
  ConstMatrixView x_;
  const std::byte* activations_;
};

Status check_packed(std::span<const PackedWeights> packed) noexcept {
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (Status s = check_weights({nullptr, &packed[i]}); !s) return s;
    const PackedWeights& a = packed[0];
    const PackedWeights& b = packed[i];
    if (a.dtype() != b.dtype() || a.N() != b.N() || a.K() != b.K() || a.layout_id() != b.layout_id()) {
      return error(StatusCode::shape_mismatch, "packed weights ", i,
                   " differ from the first in format, shape or layout");
    }
  }
  return {};
}

/// Y_i may lie one after the other or be interleaved inside the rows.
Status check_overlap(const MatrixView& y, std::size_t count, std::size_t stride) noexcept {
  if (count <= 1 || y.rows == 0 || y.cols == 0) return {};
  const bool stacked = stride >= (y.rows - 1) * y.stride + y.cols;
  const bool interleaved = stride >= y.cols && (count - 1) * stride + y.cols <= y.stride;
  if (stacked || interleaved) return {};
  return error(StatusCode::invalid_argument, "Y: ", count, " products of ", y.rows, " x ", y.cols, ", ", stride,
               " elements apart, overlap");
}

Status check(const MatmulStack& stack, std::span<const PackedWeights> packed, const Stack& items) noexcept {
  WeightView first;
  const WeightSource w = items.weights(0, first);
  if (Status s = packed.empty() ? check_weights(w) : check_packed(packed); !s) return s;
  if (Status s = check_matrix("X", stack.X); !s) return s;
  if (Status s = check_shapes(w, stack.X.rows, stack.X.cols, stack.Y); !s) return s;
  const std::size_t most = kMaxElements / items.count();
  if (stack.x_stride > most || stack.y_stride > most || (packed.empty() && stack.w_stride > most)) {
    return error(StatusCode::invalid_argument, items.count(), " products with strides of ", stack.w_stride, ", ",
                 stack.x_stride, " and ", stack.y_stride, " overflow");
  }
  return check_overlap(stack.Y, items.count(), stack.y_stride);
}

std::size_t activation_bytes(const Kernel& kernel, const Stack& items, const ConstMatrixView& x) noexcept {
  return saturating_mul(items.prepared(), Activations::bytes(kernel.key.compute, x.rows, x.cols));
}

TiledProduct product_of(const Kernel& kernel, const MatmulStack& stack, const Stack& items, const Context& context,
                        const MatmulOptions& options) noexcept {
  WeightView first;
  return make_product_of(items.count(), kernel, items.weights(0, first), stack.X.rows, context, options.tiles);
}

std::size_t workspace_bytes(const Kernel& kernel, const MatmulStack& stack, const Stack& items,
                            const TiledProduct& product) noexcept {
  return saturating_add(activation_bytes(kernel, items, stack.X), product.scratch_bytes());
}

Status run_tiled(const Kernel& kernel, const MatmulStack& stack, const Stack& items, Context& context,
                 const MatmulOptions& options) noexcept {
  const TiledProduct product = product_of(kernel, stack, items, context, options);
  const Result<std::byte*> scratch = reserve(context, workspace_bytes(kernel, stack, items, product));
  if (!scratch) return scratch.status();
  ActivationsBuilder::fill_stack(items.prepared(), kernel, stack.X, stack.x_stride, *scratch, executor_of(context));
  const StackItems all(items, kernel.key.compute, stack.X, *scratch);
  const std::uint64_t bytes =
      run(product, all, *scratch + activation_bytes(kernel, items, stack.X), executor_of(context));
  if (options.stats != nullptr) options.stats->weight_bytes = bytes;
  return {};
}

/// The kernel of all products; each of them is checked with it.
Result<const Kernel*> kernel_of(std::span<const PackedWeights> packed, const MatmulStack& stack, const Stack& items,
                                const Context& context, const MatmulOptions& options) noexcept {
  if (Status s = check(stack, packed, items); !s) return s;
  WeightView view;
  const WeightSource w = items.weights(0, view);
  const Result<const Kernel*> kernel = choose_kernel(context, request_for(w, stack.X.rows, options));
  if (!kernel) return kernel;
  if (Status s = check_kernel(**kernel, w); !s) return s;
  for (const PackedWeights& p : packed) {  // views differ in nothing that the kernel looks at
    if (Status s = check_kernel(**kernel, {nullptr, &p}); !s) return s;
  }
  return kernel;
}

/// No product writes what any of them reads.
Status check_apart(std::span<const PackedWeights> packed, const MatmulStack& stack, const Stack& items,
                   const Context& context) noexcept {
  const Runs x = runs_of(stack.X).times(items.count(), stack.x_stride * sizeof(float));
  const Runs y = runs_of(stack.Y).times(items.count(), stack.y_stride * sizeof(float));
  if (packed.empty()) {
    return nibblas::check_apart(runs_of(stack.W).times(items.count(), stack.w_stride), x, y, context);
  }
  for (const PackedWeights& p : packed) {
    if (Status s = nibblas::check_apart(runs_of(p.bytes()), x, y, context); !s) return s;
  }
  return {};
}

Status multiply(std::span<const PackedWeights> packed, const MatmulStack& stack, Context& context,
                const MatmulOptions& options) noexcept {
  const Stack items(stack, packed);
  if (items.count() == 0) return {};
  const Result<const Kernel*> kernel = kernel_of(packed, stack, items, context, options);
  if (!kernel) return kernel.status();
  if (Status s = check_apart(packed, stack, items, context); !s) return s;
  if (options.stats != nullptr) *options.stats = {0, *kernel};
  if (stack.Y.rows == 0 || stack.Y.cols == 0) return {};
  if (stack.X.cols != 0 && (*kernel)->is_tiled()) return run_tiled(**kernel, stack, items, context, options);
  for (std::size_t i = 0; i < items.count(); ++i) {
    WeightView view;
    if (stack.X.cols == 0) {
      zero(items.y(i));
    } else if (Status s = run_whole(**kernel, items.weights(i, view), items.x(i), items.y(i), context); !s) {
      return s;
    }
  }
  return {};
}

Result<std::size_t> needed(std::span<const PackedWeights> packed, const MatmulStack& stack, Context& context,
                           const MatmulOptions& options) noexcept {
  const Stack items(stack, packed);
  if (items.count() == 0) return std::size_t{0};
  const Result<const Kernel*> kernel = kernel_of(packed, stack, items, context, options);
  if (!kernel) return kernel.status();
  if (stack.Y.rows == 0 || stack.Y.cols == 0 || stack.X.cols == 0 || !(*kernel)->is_tiled()) return std::size_t{0};
  return addressable(workspace_bytes(**kernel, stack, items, product_of(**kernel, stack, items, context, options)));
}

}  // namespace

Status matmul_batched(const MatmulStack& stack, Context& context, const MatmulOptions& options) noexcept {
  return multiply({}, stack, context, options);
}

Status matmul_batched(std::span<const PackedWeights> W, const MatmulStack& stack, Context& context,
                      const MatmulOptions& options) noexcept {
  return W.empty() ? Status{} : multiply(W, stack, context, options);
}

Result<std::size_t> workspace_size(const MatmulStack& stack, Context& context, const MatmulOptions& options) noexcept {
  return needed({}, stack, context, options);
}

Result<std::size_t> workspace_size(std::span<const PackedWeights> W, const MatmulStack& stack, Context& context,
                                   const MatmulOptions& options) noexcept {
  if (W.empty()) return std::size_t{0};
  return needed(W, stack, context, options);
}

}  // namespace nibblas
