// SPDX-License-Identifier: Apache-2.0
#include "nibblas/matmul.hpp"

#include <algorithm>

#include "activations.hpp"
#include "driver.hpp"
#include "product.hpp"

// The entry points: check, choose a kernel, find scratch, hand over to the driver.

namespace nibblas {
namespace {

/// X as rows, or prepared.
struct Input {
  const ConstMatrixView* rows = nullptr;
  const Activations* prepared = nullptr;
  std::size_t M() const noexcept { return rows != nullptr ? rows->rows : prepared->M(); }
  std::size_t K() const noexcept { return rows != nullptr ? rows->cols : prepared->K(); }
};

std::string n(std::size_t value) { return std::to_string(value); }

void zero(const MatrixView& y) noexcept {
  for (std::size_t r = 0; r < y.rows; ++r) std::fill_n(y.data + r * y.stride, y.cols, 0.0f);
}

Status check_kernel_k(const Kernel& kernel, std::size_t K) {
  if (!kernel.is_tiled() || K <= kernel.tiled.k_max) return {};
  return {StatusCode::unsupported, std::string(kernel.name) + ": K = " + n(K) +
                                       " could overflow its integer sums, at most " + n(kernel.tiled.k_max)};
}

Result<std::byte*> reserve(Context& context, std::size_t bytes) {
  if (std::byte* memory = context.workspace.reserve(bytes)) return memory;
  if (context.workspace.fixed()) {
    return Status{StatusCode::buffer_too_small,
                  "workspace: " + n(context.workspace.capacity()) + " bytes, needed are " + n(bytes)};
  }
  return Status{StatusCode::out_of_memory, "no memory for a workspace of " + n(bytes) + " bytes"};
}

Status run_whole(const Kernel& kernel, const WeightSource& w, const ConstMatrixView& x, const MatrixView& y,
                 Context& context) {
  WeightView empty;
  if (w.view == nullptr) {
    empty.dtype = w.dtype();
    empty.N = w.N();
    empty.K = w.K();
  }
  const MatmulArgs args{w.view != nullptr ? *w.view : empty,
                        w.packed != nullptr ? w.packed->data() : nullptr,
                        x,
                        y,
                        executor_of(context),
                        context.workspace};
  return kernel.whole.run(args, kernel.whole.user);
}

Status run_tiled(const Kernel& kernel, const WeightSource& w, const Input& x, const MatrixView& y, Context& context,
                 const MatmulOptions& options) {
  const TiledProduct product = make_product(kernel, w, x.M(), context, options.tiles);
  const std::size_t x_bytes =
      x.prepared != nullptr ? 0 : round_up(Activations::bytes(kernel.key.compute, x.M(), x.K()), 64);
  const Result<std::byte*> scratch = reserve(context, x_bytes + product.scratch_bytes());
  if (!scratch) return scratch.status();
  Activations local;
  if (x.prepared == nullptr) {
    ActivationsBuilder::fill(local, kernel, *x.rows, kernel.key.compute, *scratch, executor_of(context));
  }
  const std::uint64_t bytes =
      run(product, x.prepared != nullptr ? *x.prepared : local, y, *scratch + x_bytes, executor_of(context));
  if (options.stats != nullptr) options.stats->weight_bytes = bytes;
  return {};
}

Status multiply(const WeightSource& w, const Input& x, const MatrixView& y, Context& context,
                const MatmulOptions& options) {
  if (Status s = check_weights(w); !s) return s;
  if (x.rows != nullptr) {
    if (Status s = check_matrix("X", *x.rows); !s) return s;
  }
  if (Status s = check_shapes(w, x.M(), x.K(), y); !s) return s;
  KernelRequest request = request_for(w, x.M(), options);
  if (x.prepared != nullptr) {
    if (options.compute != Compute::automatic && options.compute != x.prepared->compute()) {
      return {StatusCode::invalid_argument, "X is prepared for " + std::string(to_string(x.prepared->compute())) +
                                                ", asked for is " + std::string(to_string(options.compute))};
    }
    request.key.compute = x.prepared->compute();
    request.tiled_only = true;
  }
  const Result<const Kernel*> kernel = choose_kernel(context, request);
  if (!kernel) return kernel.status();
  if (Status s = check_kernel_k(**kernel, w.K()); !s) return s;
  if (options.stats != nullptr) *options.stats = {0, *kernel};
  if (y.rows == 0 || y.cols == 0) return {};
  if (w.K() == 0) {
    zero(y);
    return {};
  }
  return (*kernel)->is_tiled() ? run_tiled(**kernel, w, x, y, context, options)
                               : run_whole(**kernel, w, *x.rows, y, context);
}

Result<std::size_t> needed(const WeightSource& w, std::size_t M, Context& context, const MatmulOptions& options) {
  if (Status s = check_weights(w); !s) return s;
  const Result<const Kernel*> kernel = choose_kernel(context, request_for(w, M, options));
  if (!kernel) return kernel.status();
  if (M == 0 || w.N() == 0 || w.K() == 0 || !(*kernel)->is_tiled()) return std::size_t{0};
  const TiledProduct product = make_product(**kernel, w, M, context, options.tiles);
  return round_up(Activations::bytes((*kernel)->key.compute, M, w.K()), 64) + product.scratch_bytes();
}

std::string explain(const WeightSource& w, std::size_t M, Context& context, const MatmulOptions& options) {
  if (Status s = check_weights(w); !s) return s.message();
  return registry_of(context).explain(request_for(w, M, options));
}

}  // namespace

Status matmul(const WeightView& W, ConstMatrixView X, MatrixView Y, Context& context, const MatmulOptions& options) {
  return multiply({&W, nullptr}, {&X, nullptr}, Y, context, options);
}
Status matmul(const PackedWeights& W, ConstMatrixView X, MatrixView Y, Context& context, const MatmulOptions& options) {
  return multiply({nullptr, &W}, {&X, nullptr}, Y, context, options);
}
Status matmul(const WeightView& W, const Activations& X, MatrixView Y, Context& context, const MatmulOptions& options) {
  return multiply({&W, nullptr}, {nullptr, &X}, Y, context, options);
}
Status matmul(const PackedWeights& W, const Activations& X, MatrixView Y, Context& context,
              const MatmulOptions& options) {
  return multiply({nullptr, &W}, {nullptr, &X}, Y, context, options);
}

Status gemv(const WeightView& W, std::span<const float> x, std::span<float> y, Context& context,
            const MatmulOptions& options) {
  return matmul(W, {x.data(), 1, x.size()}, {y.data(), 1, y.size()}, context, options);
}
Status gemv(const PackedWeights& W, std::span<const float> x, std::span<float> y, Context& context,
            const MatmulOptions& options) {
  return matmul(W, {x.data(), 1, x.size()}, {y.data(), 1, y.size()}, context, options);
}

Result<std::size_t> workspace_size(const WeightView& W, std::size_t M, Context& context, const MatmulOptions& options) {
  return needed({&W, nullptr}, M, context, options);
}
Result<std::size_t> workspace_size(const PackedWeights& W, std::size_t M, Context& context,
                                   const MatmulOptions& options) {
  return needed({nullptr, &W}, M, context, options);
}

std::string explain(const WeightView& W, std::size_t M, Context& context, const MatmulOptions& options) {
  return explain(WeightSource{&W, nullptr}, M, context, options);
}
std::string explain(const PackedWeights& W, std::size_t M, Context& context, const MatmulOptions& options) {
  return explain(WeightSource{nullptr, &W}, M, context, options);
}

}  // namespace nibblas
