// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#include <cstdint>
#include <string>

#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

// Far beyond any memory, far below where sizes of packed weights or activations could wrap.
constexpr std::size_t kMaxElements = std::size_t{1} << (sizeof(std::size_t) * 8 - 8);

std::string n(std::size_t value) { return std::to_string(value); }

}  // namespace

KernelRegistry& registry_of(const Context& c) noexcept {
  return c.registry != nullptr ? *c.registry : KernelRegistry::shared();
}
Executor& executor_of(const Context& c) noexcept { return c.executor != nullptr ? *c.executor : serial_executor(); }
const CacheInfo& caches_of(const Context& c) noexcept {
  return c.caches != nullptr ? *c.caches : registry_of(c).cpu().caches;
}

Status check_weights(const WeightSource& w) noexcept {
  if (w.view != nullptr) return check_view(*w.view);
  if (w.packed->bytes().empty()) return {StatusCode::invalid_argument, "W: the packed weights are empty"};
  const PanelLayout& layout = panel_layout(w.packed->dtype());
  const bool foreign = w.packed->layout_id() >= kFirstForeignLayout;
  if (!foreign && (w.packed->layout_id() != layout.id || w.packed->layout_version() != layout.version)) {
    return {StatusCode::invalid_data, "W: packed in layout " + n(w.packed->layout_id()) + " version " +
                                          n(w.packed->layout_version()) + ", this build reads " + n(layout.id) +
                                          " version " + n(layout.version)};
  }
  return {};
}

Status check_matrix(const char* name, const ConstMatrixView& m) noexcept {
  if (m.rows == 0 || m.cols == 0) return {};
  const std::string who = name;
  if (m.data == nullptr) {
    return {StatusCode::invalid_argument, who + ": data is null for " + n(m.rows) + " x " + n(m.cols)};
  }
  if (reinterpret_cast<std::uintptr_t>(m.data) % alignof(float) != 0) {
    return {StatusCode::invalid_argument, who + ": data is not 4-byte aligned"};
  }
  if (m.stride < m.cols) {
    return {StatusCode::invalid_argument, who + ": stride " + n(m.stride) + " is below its " + n(m.cols) + " columns"};
  }
  if (m.stride > kMaxElements / m.rows) {
    return {StatusCode::invalid_argument, who + ": " + n(m.rows) + " rows of stride " + n(m.stride) + " overflow"};
  }
  return {};
}

Status check_shapes(const WeightSource& w, std::size_t x_rows, std::size_t x_cols, const MatrixView& y) noexcept {
  if (x_cols != w.K()) {
    return {StatusCode::shape_mismatch, "X has " + n(x_cols) + " columns, W has K = " + n(w.K())};
  }
  if (y.rows != x_rows) {
    return {StatusCode::shape_mismatch, "Y has " + n(y.rows) + " rows, X has M = " + n(x_rows)};
  }
  if (y.cols != w.N()) {
    return {StatusCode::shape_mismatch, "Y has " + n(y.cols) + " columns, W has N = " + n(w.N())};
  }
  return check_matrix("Y", y);
}

KernelRequest request_for(const WeightSource& w, std::size_t M, const MatmulOptions& o) noexcept {
  KernelRequest r;
  r.key = {M == 1 ? Op::gemv : Op::matmul, w.dtype(), resolve_compute(w.dtype(), o.compute)};
  r.provider = o.provider;
  r.allow_tolerance = o.allow_tolerance;
  r.layout_id = w.layout_id();
  return r;
}

Result<const Kernel*> choose_kernel(const Context& context, const KernelRequest& request) noexcept {
  const KernelRegistry& registry = registry_of(context);
  if (const Kernel* kernel = registry.select(request)) return kernel;
  Status why = registry.resolve(request).status;
  if (why.ok()) why = {StatusCode::unsupported, "the providers changed during the call"};
  return why;
}

Result<const Kernel*> choose_tiled(const Context& context, DType weights, Compute compute,
                                   std::string_view provider) noexcept {
  KernelRequest r;
  r.key = {Op::matmul, weights, compute};
  r.provider = provider;
  r.tiled_only = true;
  return choose_kernel(context, r);
}

}  // namespace nibblas
