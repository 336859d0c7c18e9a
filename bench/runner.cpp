// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "support/fill.hpp"

namespace nibblas::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kActivationSeed = 7;
constexpr double kLongCase = 2.0;       // seconds
constexpr double kProductsAtLeast = 4;  // of a slow case: one to verify, three to time

MatmulOptions matmul_options(const Case& c, MatmulStats* stats) {
  MatmulOptions o;
  o.compute = c.compute;
  o.provider = c.forced_provider;
  o.allow_tolerance = !c.forced_provider.empty();
  o.stats = stats;
  return o;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Runner::Runner(const RunOptions& options, KernelRegistry& registry, std::vector<Limits> limits)
    : options_(options), registry_(registry), limits_(std::move(limits)) {}

Runner::Engine& Runner::engine(std::size_t threads) {
  Engine& e = engines_[threads];
  if (e.context.registry == nullptr) {
    e.context.registry = &registry_;
    if (threads > 1) {
      e.pool = std::make_unique<ThreadPool>(threads);
      e.context.executor = e.pool.get();
    }
  }
  return e;
}

void Runner::prepare_matrices(const Case& c) {
  const std::size_t K = c.source->K;
  if (x_cols_ != K || x_rows_ < c.M) {
    x_.resize(c.M * K);
    x_rows_ = c.M;
    x_cols_ = K;
    test::fill_gaussian_with_outliers({x_.data(), x_rows_, x_cols_}, kActivationSeed);
  }
  // A product that leaves an element out must be seen.
  y_.assign(c.M * c.source->N, std::numeric_limits<float>::quiet_NaN());
}

double Runner::predicted_seconds(const Case& c) const {
  double rate = 0;
  for (const auto& [key, gops] : gops_) {  // ascending M: the nearest from below, else the first from above
    const auto& [kernel, threads, M] = key;
    if (kernel != c.kernel || threads != c.threads) continue;
    if (M <= c.M || rate == 0) rate = gops;
  }
  const double operations =
      2.0 * static_cast<double>(c.M) * static_cast<double>(c.source->N) * static_cast<double>(c.source->K);
  return rate > 0 ? kProductsAtLeast * operations / (rate * 1e9) : 0;
}

Status Runner::verify(const Case& c, Context& context, CaseResult& out) {
  const std::size_t N = c.source->N;
  const ConstMatrixView x{x_.data(), c.M, c.source->K};
  const MatrixView y{y_.data(), c.M, N};
  MatmulStats stats;
  if (Status s = bank_.multiply(0, x, y, context, matmul_options(c, &stats)); !s) return s;
  if (stats.kernel != nullptr) out.kernel = stats.kernel->name;
  const Result<Verification> v = verifier_.check(c, bank_.original(), x, y);
  if (!v) return v.status();
  out.rel_l2 = v->rel_l2;
  if (!v->ok) return {StatusCode::invalid_data, "verification failed: " + v->why_not};
  return {};
}

Status Runner::time(const Case& c, Context& context, CaseResult& out) {
  const ConstMatrixView x{x_.data(), c.M, c.source->K};
  const MatrixView y{y_.data(), c.M, c.source->N};
  const MatmulOptions options = matmul_options(c, nullptr);
  std::size_t copy = 0;
  const auto once = [&](double& seconds) {
    copy = (copy + 1) % bank_.copies();
    const Clock::time_point start = Clock::now();
    Status s = bank_.multiply(copy, x, y, context, options);
    seconds = seconds_since(start);
    return s;
  };
  bank_.flush_if_needed();
  double estimate = 0;
  if (Status s = once(estimate); !s) return s;
  std::vector<double> times(repetitions(estimate, options_.seconds));
  for (double& t : times) {
    if (Status s = once(t); !s) return s;
  }
  out.repetitions = times.size();
  out.seconds = median(std::move(times));
  return {};
}

Status Runner::run_steps(const Case& c, CaseResult& out) {
  Context& context = engine(c.threads).context;
  if (Status s = bank_.load(c, context); !s) return s;
  prepare_matrices(c);
  if (Status s = verify(c, context, out); !s) return s;
  return time(c, context, out);
}

CaseResult Runner::run(const Case& c) {
  CaseResult out;
  out.spec = c;
  out.kernel = c.kernel->name;
  if (const double predicted = predicted_seconds(c); options_.is_default_run() && predicted > kLongCase) {
    out.outcome = Outcome::skipped;
    out.why =
        fmt::format("predicted to take {:.1f} s, over {:.0f} s; name --shapes or --m to run it", predicted, kLongCase);
    return out;
  }
  if (const Status s = run_steps(c, out); !s) {
    out.why = s.message();
    return out;
  }
  const auto limits =
      std::find_if(limits_.begin(), limits_.end(), [&](const Limits& l) { return l.threads == c.threads; });
  out.outcome = Outcome::timed;
  out.limit_isa = peak_for(*limits, c.kernel->needs).isa;
  out.speed = speed(c.M, c.source->N, c.source->K, weight_bytes(c.source->dtype, c.source->N, c.source->K, c.packed),
                    out.seconds, limit_gops(*limits, c.kernel->needs, c.compute), limits->dram_gbs);
  gops_[{c.kernel, c.threads, c.M}] = out.speed.gops;
  return out;
}

}  // namespace nibblas::bench
