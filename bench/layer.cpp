// SPDX-License-Identifier: Apache-2.0
#include "layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "limits/probe.hpp"
#include "support/fill.hpp"
#include "support/oracle.hpp"
#include "timing.hpp"
#include "verify.hpp"

namespace nibblas::bench {
namespace {

using Clock = std::chrono::steady_clock;

// silu(gate) * up in float: exp, 1 + e, a division and a product, each within an ulp or so of its own.
constexpr double kSiluError = 1e-6;
constexpr std::size_t kSiluElements = 4096;  // a task

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct SiluJob {
  ConstMatrixView gate;
  ConstMatrixView up;
  MatrixView out;
};

void silu_part(void* arg, std::size_t i) noexcept {
  const SiluJob& job = *static_cast<const SiluJob*>(arg);
  const std::size_t end = std::min((i + 1) * kSiluElements, job.gate.rows * job.gate.cols);
  for (std::size_t e = i * kSiluElements; e < end; ++e) {
    const float g = job.gate.data[e];
    job.out.data[e] = g / (1 + std::exp(-g)) * job.up.data[e];
  }
}

}  // namespace

void silu_times(ConstMatrixView gate, ConstMatrixView up, MatrixView out, Executor& executor) {
  SiluJob job{gate, up, out};
  executor.parallel_for((gate.rows * gate.cols + kSiluElements - 1) / kSiluElements, {silu_part, &job});
}

Status LayerRunner::prepare_case(const LayerCase& c, Context& context) {
  const std::vector<LayerMatrix> matrices = matrices_of(c.block, options_);
  if (!loaded_ || loaded_block_ != c.block || loaded_dtype_ != c.dtype) {
    loaded_ = false;
    if (Status s = weights_.load(c.dtype, matrices, options_.hot, context); !s) return s;
    loaded_ = true;
    loaded_block_ = c.block;
    loaded_dtype_ = c.dtype;
  }
  compute_ = resolve_compute(c.dtype, Compute::automatic);
  if (Status s = x_.resize(c.M, options_.hidden); !s) return s;
  if (Status s = middle_.resize(c.M, matrices.back().K); !s) return s;
  test::fill_gaussian_with_outliers(x_.view(), kActivationSeed);
  // The projections' output takes what attention gives, which is not part of the block.
  test::fill_gaussian_with_outliers(middle_.view(), kActivationSeed + 1);
  y_.resize(std::max(y_.size(), matrices.size()));
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    if (Status s = y_[i].resize(c.M, matrices[i].N); !s) return s;
    y_[i].fill_nan();
  }
  return {};
}

Status LayerRunner::prepare_timed(ConstMatrixView x, Activations& out, Context& context) {
  const Clock::time_point start = Clock::now();
  Status s = prepare(x, compute_, out, context);
  prepare_seconds_ += seconds_since(start);
  return s;
}

Status LayerRunner::product(std::size_t copy, std::size_t matrix, const Activations& x, Context& context) {
  return matmul(weights_.packed(copy, matrix), x, y_[matrix].view(), context, {});
}

Status LayerRunner::run_swiglu(std::size_t copy, Context& context) {
  if (Status s = prepare_timed(x_.view(), x_prepared_, context); !s) return s;
  for (const std::size_t gate_or_up : {0u, 1u}) {
    if (Status s = product(copy, gate_or_up, x_prepared_, context); !s) return s;
  }
  const Clock::time_point start = Clock::now();
  silu_times(y_[0].view(), y_[1].view(), middle_.view(), executor_of(context));
  silu_seconds_ += seconds_since(start);
  if (Status s = prepare_timed(middle_.view(), middle_prepared_, context); !s) return s;
  return product(copy, 2, middle_prepared_, context);
}

Status LayerRunner::run_projections(std::size_t copy, Context& context) {
  if (Status s = prepare_timed(x_.view(), x_prepared_, context); !s) return s;
  for (const std::size_t q_k_v : {0u, 1u, 2u}) {
    if (Status s = product(copy, q_k_v, x_prepared_, context); !s) return s;
  }
  if (Status s = prepare_timed(middle_.view(), middle_prepared_, context); !s) return s;
  return product(copy, 3, middle_prepared_, context);
}

Status LayerRunner::run_block(const LayerCase& c, std::size_t copy, Context& context) {
  return c.block == LayerBlock::swiglu ? run_swiglu(copy, context) : run_projections(copy, context);
}

/// Each product against double, on sampled rows and the input that it had.
Status LayerRunner::verify(const LayerCase& c, LayerResult& out) const {
  const std::vector<LayerMatrix> matrices = matrices_of(c.block, options_);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const ConstMatrixView x = i + 1 == matrices.size() ? middle_.view() : x_.view();
    const WeightView& w = weights_.original(i);
    const Result<test::Oracle> oracle = test::make_oracle(w, x, rows_to_check(c.M, w.N, w.K));
    if (!oracle) return oracle.status();
    const test::Comparison found = test::compare(*oracle, compute_, y_[i].view());
    out.rel_l2 = std::max(out.rel_l2, found.rel_l2);
    if (!found.ok) {
      return {StatusCode::invalid_data,
              fmt::format("verification failed: {}[{}][{}] = {:.9g}, oracle {:.9g}, allowed error {:.3g}",
                          matrices[i].name, found.worst_m, found.worst_n, found.got, found.want, found.bound)};
    }
  }
  return c.block == LayerBlock::swiglu ? verify_silu() : Status{};
}

Status LayerRunner::verify_silu() const {
  const ConstMatrixView gate = y_[0].view();
  for (std::size_t i = 0; i < gate.rows * gate.cols; ++i) {
    const auto g = static_cast<double>(gate.data[i]);
    const double want = g / (1 + std::exp(-g)) * static_cast<double>(y_[1].view().data[i]);
    const auto got = static_cast<double>(middle_.view().data[i]);
    if (!(std::abs(got - want) <= kSiluError * std::abs(want) + 1e-30)) {
      return {StatusCode::invalid_data,
              fmt::format("verification failed: silu(gate) * up [{}][{}] = {:.9g}, not {:.9g}", i / gate.cols,
                          i % gate.cols, got, want)};
    }
  }
  return {};
}

/// The block and the limits in turn, a machine's speed changing within seconds.
Status LayerRunner::time(const LayerCase& c, const Kernel& kernel, const Limits& limits, Context& context,
                         LayerResult& out) {
  const LimitProbe probe(limits, kernel.needs, compute_, executor_of(context));
  prepare_seconds_ = 0;
  silu_seconds_ = 0;
  double total = 0;
  std::function<std::span<const std::byte>(std::size_t)> bytes_of;
  if (!options_.hot) bytes_of = [&](std::size_t copy) { return weights_.packed(copy, 0).bytes(); };
  weights_.flush_if_needed();
  const Result<TimingBesideLimits> t = probe.time(
      weights_.copies(), options_.seconds,
      [&](std::size_t copy) {
        const Clock::time_point start = Clock::now();
        Status run = run_block(c, copy, context);
        total += seconds_since(start);
        return run;
      },
      bytes_of);
  if (!t) return t.status();
  out.seconds = t->timing.seconds;
  out.repetitions = t->timing.repetitions;
  out.prepare_share = prepare_seconds_ / total;
  out.silu_share = silu_seconds_ / total;
  double operations = 0;
  double bytes = 0;
  for (const LayerMatrix& m : matrices_of(c.block, options_)) {
    operations += 2.0 * static_cast<double>(c.M) * static_cast<double>(m.N) * static_cast<double>(m.K);
    bytes += weight_bytes(c.dtype, m.N, m.K, true);
  }
  out.speed = {operations / out.seconds * 1e-9, bytes / out.seconds * 1e-9, t->gops, t->gbs};
  return {};
}

LayerResult LayerRunner::run(const LayerCase& c, const Kernel& kernel, const Limits& limits) {
  LayerResult out;
  out.spec = c;
  out.kernel = kernel.name;
  Context& context = engines_(c.threads);
  Status s = prepare_case(c, context);
  if (s.ok()) s = run_block(c, 0, context);
  if (s.ok()) s = verify(c, out);
  if (s.ok()) s = time(c, kernel, limits, context, out);
  out.why_not = s.message();
  return out;
}

}  // namespace nibblas::bench
