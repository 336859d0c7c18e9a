// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#include <algorithm>
#include <cstdint>

#include "nibblas/formats.hpp"
#include "status_message.hpp"
#include "whole.hpp"

namespace nibblas {

KernelRegistry& registry_of(const Context& c) noexcept {
  return c.registry != nullptr ? *c.registry : KernelRegistry::shared();
}
Executor& executor_of(const Context& c) noexcept { return c.executor != nullptr ? *c.executor : serial_executor(); }
const CacheInfo& caches_of(const Context& c) noexcept {
  return c.caches != nullptr ? *c.caches : registry_of(c).cpu().caches;
}

Status check_weights(const WeightSource& w) noexcept {
  if (w.view != nullptr) return check_view(*w.view);
  if (w.packed->bytes().empty()) return error(StatusCode::invalid_argument, "W: the packed weights are empty");
  const PanelLayout& layout = panel_layout(w.packed->dtype());
  const bool foreign = w.packed->layout_id() >= kFirstForeignLayout;
  if (!foreign && (w.packed->layout_id() != layout.id || w.packed->layout_version() != layout.version)) {
    return error(StatusCode::invalid_data, "W: packed in layout ", w.packed->layout_id(), " version ",
                 w.packed->layout_version(), ", this build reads ", layout.id, " version ", layout.version);
  }
  return {};
}

Status check_matrix(const char* name, const ConstMatrixView& m) noexcept {
  if (m.rows == 0 || m.cols == 0) return {};
  if (m.data == nullptr) {
    return error(StatusCode::invalid_argument, name, ": data is null for ", m.rows, " x ", m.cols);
  }
  if (reinterpret_cast<std::uintptr_t>(m.data) % alignof(float) != 0) {
    return error(StatusCode::invalid_argument, name, ": data is not 4-byte aligned");
  }
  if (m.stride < m.cols) {
    return error(StatusCode::invalid_argument, name, ": stride ", m.stride, " is below its ", m.cols, " columns");
  }
  if (m.stride > kMaxElements / m.rows) {
    return error(StatusCode::invalid_argument, name, ": ", m.rows, " rows of stride ", m.stride, " overflow");
  }
  return {};
}

Status check_shapes(const WeightSource& w, std::size_t x_rows, std::size_t x_cols, const MatrixView& y) noexcept {
  if (x_cols != w.K()) {
    return error(StatusCode::shape_mismatch, "X has ", x_cols, " columns, W has K = ", w.K());
  }
  if (y.rows != x_rows) {
    return error(StatusCode::shape_mismatch, "Y has ", y.rows, " rows, X has M = ", x_rows);
  }
  if (y.cols != w.N()) {
    return error(StatusCode::shape_mismatch, "Y has ", y.cols, " columns, W has N = ", w.N());
  }
  return check_matrix("Y", y);
}

KernelRequest request_for(const WeightSource& w, std::size_t M, const MatmulOptions& o) noexcept {
  KernelRequest r;
  r.key = {M == 1 ? Op::gemv : Op::matmul, w.dtype(), resolve_compute(w.dtype(), o.compute)};
  r.provider = o.provider;
  r.allow_tolerance = o.allow_tolerance;
  r.layout_id = w.layout_id();
  r.require = o.require;
  return r;
}

Result<const Kernel*> choose_kernel(const Context& context, const KernelRequest& request) noexcept {
  const KernelRegistry& registry = registry_of(context);
  if (const Kernel* kernel = registry.select(request)) return kernel;
  Status why = registry.resolve(request).status;
  if (why.ok()) why = error(StatusCode::unsupported, "the providers changed during the call");
  return why;
}

Result<const Kernel*> choose_tiled(const Context& context, DType weights, Compute compute) noexcept {
  KernelRequest r;
  r.key = {Op::matmul, weights, compute};
  r.tiled_only = true;
  return choose_kernel(context, r);
}

void zero(const MatrixView& y) noexcept {
  for (std::size_t r = 0; r < y.rows; ++r) std::fill_n(y.data + r * y.stride, y.cols, 0.0f);
}

Status check_kernel(const Kernel& kernel, const WeightSource& w) noexcept {
  if (!kernel.is_tiled()) return w.packed != nullptr ? check_own_packing(kernel, *w.packed) : Status{};
  if (w.K() <= kernel.tiled.k_max) return {};
  return error(StatusCode::unsupported, kernel.name, ": K = ", w.K(), " could overflow its integer sums, at most ",
               kernel.tiled.k_max);
}

Runs runs_of(const WeightSource& w) noexcept {
  return w.view != nullptr ? runs_of(*w.view) : runs_of(w.packed->bytes());
}

Status check_apart(const Runs& weights, const Runs& x, const Runs& y, const Context& context) noexcept {
  if (Status s = check_apart("Y", y, "X", x); !s) return s;
  if (Status s = check_apart("Y", y, "W", weights); !s) return s;
  if (context.workspace.capacity() == 0) return {};
  const Runs workspace = runs_of(context.workspace.memory());
  if (Status s = check_apart("the workspace", workspace, "Y", y); !s) return s;
  if (Status s = check_apart("the workspace", workspace, "X", x); !s) return s;
  return check_apart("the workspace", workspace, "W", weights);
}

Result<std::size_t> addressable(std::size_t bytes) noexcept {
  if (bytes != SIZE_MAX) return bytes;
  return error(StatusCode::shape_mismatch, "the size of the workspace overflows");
}

Result<std::byte*> reserve(Context& context, std::size_t bytes) noexcept {
  if (const Result<std::size_t> size = addressable(bytes); !size) return size.status();
  if (std::byte* memory = context.workspace.reserve(bytes)) return memory;
  if (!context.workspace.fixed()) {
    return error(StatusCode::out_of_memory, "no memory for a workspace of ", bytes, " bytes");
  }
  if (context.workspace.memory().data() == nullptr && context.workspace.capacity() != 0) {
    return error(StatusCode::invalid_argument, "workspace: ", context.workspace.capacity(), " bytes at a null pointer");
  }
  if (context.workspace.capacity() >= bytes) {
    return error(StatusCode::invalid_argument, "workspace: its memory is not 64-byte aligned");
  }
  return error(StatusCode::buffer_too_small, "workspace: ", context.workspace.capacity(), " bytes, needed are ", bytes);
}

}  // namespace nibblas
