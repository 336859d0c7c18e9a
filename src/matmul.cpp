// SPDX-License-Identifier: Apache-2.0
#include "nibblas/matmul.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

#include "activations.hpp"
#include "driver.hpp"
#include "product.hpp"
#include "status_message.hpp"
#include "whole.hpp"

// The entry points: check, choose a kernel, find scratch, hand over to the driver.

namespace nibblas {
namespace {

/// X as rows, or prepared.
struct Input {
  const ConstMatrixView* rows = nullptr;
  const Activations* prepared = nullptr;
  std::size_t M() const noexcept { return rows != nullptr ? rows->rows : prepared->M(); }
  std::size_t K() const noexcept { return rows != nullptr ? rows->cols : prepared->K(); }
  Runs runs() const noexcept {
    if (rows != nullptr) return runs_of(*rows);
    return runs_of({prepared->tile(0), Activations::bytes(prepared->compute(), M(), K())});
  }
};

Status run_tiled(const Kernel& kernel, const WeightSource& w, const Input& x, const MatrixView& y, Context& context,
                 const MatmulOptions& options) noexcept {
  const TiledProduct product = make_product(kernel, w, x.M(), context, options.tiles);
  const std::size_t x_bytes = x.prepared != nullptr ? 0 : Activations::bytes(kernel.key.compute, x.M(), x.K());
  const Result<std::byte*> scratch = reserve(context, saturating_add(x_bytes, product.scratch_bytes()));
  if (!scratch) return scratch.status();
  Activations local;
  if (x.prepared == nullptr) {
    ActivationsBuilder::fill(local, kernel, *x.rows, *scratch, executor_of(context));
  }
  const std::uint64_t bytes =
      run(product, x.prepared != nullptr ? *x.prepared : local, y, *scratch + x_bytes, executor_of(context));
  if (options.stats != nullptr) options.stats->weight_bytes = bytes;
  return {};
}

Status multiply(const WeightSource& w, const Input& x, const MatrixView& y, Context& context,
                const MatmulOptions& options) noexcept {
  if (Status s = check_weights(w); !s) return s;
  if (x.rows != nullptr) {
    if (Status s = check_matrix("X", *x.rows); !s) return s;
  }
  if (Status s = check_shapes(w, x.M(), x.K(), y); !s) return s;
  KernelRequest request = request_for(w, x.M(), options);
  if (x.prepared != nullptr) {
    if (options.compute != Compute::automatic && options.compute != x.prepared->compute()) {
      return error(StatusCode::invalid_argument, "X is prepared for ", x.prepared->compute(), ", asked for is ",
                   options.compute);
    }
    request.key.compute = x.prepared->compute();
    request.tiled_only = true;
  }
  const Result<const Kernel*> kernel = choose_kernel(context, request);
  if (!kernel) return kernel.status();
  if (Status s = check_kernel(**kernel, w); !s) return s;
  if (Status s = check_apart(runs_of(w), x.runs(), runs_of(y), context); !s) return s;
  if (options.stats != nullptr) *options.stats = {0, *kernel};
  if (y.rows == 0 || y.cols == 0) return {};
  if (w.K() == 0) {
    zero(y);
    return {};
  }
  return (*kernel)->is_tiled() ? run_tiled(**kernel, w, x, y, context, options)
                               : run_whole(**kernel, w, *x.rows, y, context);
}

Result<std::size_t> needed(const WeightSource& w, std::size_t M, Context& context,
                           const MatmulOptions& options) noexcept {
  if (Status s = check_weights(w); !s) return s;
  if (M != 0 && std::max(w.K(), w.N()) > kMaxElements / M) {
    return error(StatusCode::shape_mismatch, "M = ", M, " with N = ", w.N(), ", K = ", w.K(), " overflows");
  }
  const Result<const Kernel*> kernel = choose_kernel(context, request_for(w, M, options));
  if (!kernel) return kernel.status();
  if (Status s = check_kernel(**kernel, w); !s) return s;
  if (M == 0 || w.N() == 0 || w.K() == 0 || !(*kernel)->is_tiled()) return std::size_t{0};
  const TiledProduct product = make_product(**kernel, w, M, context, options.tiles);
  return addressable(saturating_add(Activations::bytes((*kernel)->key.compute, M, w.K()), product.scratch_bytes()));
}

std::string explain(const WeightSource& w, std::size_t M, Context& context, const MatmulOptions& options) try {
  if (Status s = check_weights(w); !s) return s.message() + "\n";
  std::string text = registry_of(context).explain(request_for(w, M, options));
  if (const Result<const Kernel*> kernel = choose_kernel(context, request_for(w, M, options)); kernel) {
    if (Status s = check_kernel(**kernel, w); !s) text.append("refused: ").append(s.message()).append("\n");
  }
  return text;
} catch (const std::bad_alloc&) {
  return {};
}

/// Of gemv, whose caller knows of no columns.
Status wrong_length(std::span<const float> y, std::size_t N) noexcept {
  return error(StatusCode::shape_mismatch, "y has ", y.size(), " elements, W has N = ", N);
}

}  // namespace

Status matmul(const WeightView& W, ConstMatrixView X, MatrixView Y, Context& context,
              const MatmulOptions& options) noexcept {
  return multiply({&W, nullptr}, {&X, nullptr}, Y, context, options);
}
Status matmul(const PackedWeights& W, ConstMatrixView X, MatrixView Y, Context& context,
              const MatmulOptions& options) noexcept {
  return multiply({nullptr, &W}, {&X, nullptr}, Y, context, options);
}
Status matmul(const WeightView& W, const Activations& X, MatrixView Y, Context& context,
              const MatmulOptions& options) noexcept {
  return multiply({&W, nullptr}, {nullptr, &X}, Y, context, options);
}
Status matmul(const PackedWeights& W, const Activations& X, MatrixView Y, Context& context,
              const MatmulOptions& options) noexcept {
  return multiply({nullptr, &W}, {nullptr, &X}, Y, context, options);
}

Status gemv(const WeightView& W, std::span<const float> x, std::span<float> y, Context& context,
            const MatmulOptions& options) noexcept {
  if (y.size() != W.N) return wrong_length(y, W.N);
  return matmul(W, {x.data(), 1, x.size()}, {y.data(), 1, y.size()}, context, options);
}
Status gemv(const PackedWeights& W, std::span<const float> x, std::span<float> y, Context& context,
            const MatmulOptions& options) noexcept {
  if (y.size() != W.N()) return wrong_length(y, W.N());
  return matmul(W, {x.data(), 1, x.size()}, {y.data(), 1, y.size()}, context, options);
}

Result<std::size_t> workspace_size(const WeightView& W, std::size_t M, Context& context,
                                   const MatmulOptions& options) noexcept {
  return needed({&W, nullptr}, M, context, options);
}
Result<std::size_t> workspace_size(const PackedWeights& W, std::size_t M, Context& context,
                                   const MatmulOptions& options) noexcept {
  return needed({nullptr, &W}, M, context, options);
}

std::string explain(const WeightView& W, std::size_t M, Context& context, const MatmulOptions& options) {
  return explain(WeightSource{&W, nullptr}, M, context, options);
}
std::string explain(const PackedWeights& W, std::size_t M, Context& context, const MatmulOptions& options) {
  return explain(WeightSource{nullptr, &W}, M, context, options);
}

}  // namespace nibblas
