// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "limits/probe.hpp"
#include "support/fill.hpp"
#include "timing.hpp"

namespace nibblas::bench {
namespace {

constexpr double kLongCase = 2.0;       // seconds
constexpr double kPrepareBudget = 0.2;  // of a case's time
constexpr double kProductsAtLeast = 4;  // of a slow case: one to verify, three to time

}  // namespace

const PeerResult* CaseResult::best_peer() const {
  const PeerResult* best = nullptr;
  for (const PeerResult& p : peers) {
    if (p.timed() && (best == nullptr || p.ratio() < best->ratio())) best = &p;
  }
  return best;
}

Rivals make_rivals(const RunOptions& options) {
  Rivals rivals;
  for (const std::string& name : options.peers) {
    rivals.peers.push_back(make_peer(name, {options.peer_dir, options.peer_variant}));
  }
  if (options.baseline) rivals.baseline = make_scalar_baseline();
  return rivals;
}

Runner::Runner(const RunOptions& options, KernelRegistry& registry, std::vector<Limits> limits, Rivals rivals)
    : options_(options),
      registry_(registry),
      limits_(std::move(limits)),
      engines_(registry),
      rivals_(std::move(rivals)) {}

Status Runner::prepare_matrices(const Case& c) {
  const ConstMatrixView before = x_.view();
  if (Status s = x_.resize(c.M, c.source->K); !s) return s;
  if (before.rows != c.M || before.cols != c.source->K) test::fill_gaussian_with_outliers(x_.view(), kActivationSeed);
  if (Status s = y_.resize(c.M, c.source->N); !s) return s;
  y_.fill_nan();
  return {};
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
  MatmulStats stats;
  MatmulOptions options = matmul_options(c.compute, c.forced_provider);
  options.stats = &stats;
  if (Status s = bank_.multiply(0, x_.view(), y_.view(), context, options); !s) return s;
  if (stats.kernel != nullptr) out.kernel = stats.kernel->name;
  const Result<Verification> v = verifier_.check(c, bank_.original(), x_.view(), y_.view());
  if (!v) return v.status();
  out.rel_l2 = v->rel_l2;
  if (!v->ok) return {StatusCode::invalid_data, "verification failed: " + v->why_not};
  return {};
}

Status Runner::time(const Case& c, Context& context, CaseResult& out) {
  const MatmulOptions options = matmul_options(c.compute, c.forced_provider);
  const Limits& limits = *std::ranges::find_if(limits_, [&](const Limits& l) { return l.threads == c.threads; });
  const LimitProbe probe(limits, c.kernel->needs, c.compute, executor_of(context));
  std::function<std::span<const std::byte>(std::size_t)> bytes_of;
  if (!c.hot) bytes_of = [&](std::size_t copy) { return bank_.bytes(copy); };
  bank_.flush_if_needed();
  const Result<TimingBesideLimits> t = probe.time(
      bank_.copies(), options_.seconds,
      [&](std::size_t copy) { return bank_.multiply(copy, x_.view(), y_.view(), context, options); }, bytes_of);
  if (!t) return t.status();
  out.repetitions = t->timing.repetitions;
  out.seconds = t->timing.seconds;
  out.limit_isa = probe.isa();
  out.speed = speed(c.M, c.source->N, c.source->K, weight_bytes(c.source->dtype, c.source->N, c.source->K, c.packed),
                    out.seconds, t->gops, t->gbs);
  return {};
}

/// With the kernel's own provider, since another's prepare() may be faster or slower.
Status Runner::time_prepare(const Case& c, Context& context, CaseResult& out) {
  if (!c.kernel->is_tiled()) return {};
  KernelRegistry forced = KernelRegistry::builtin(registry_.cpu(), {c.provider, {}, {}});
  if (!forced.config_status()) return {};  // not a built-in one
  Context own;
  own.registry = &forced;
  own.executor = context.executor;
  Activations prepared;
  const Result<Timing> t = time_in_turn(1, options_.seconds * kPrepareBudget,
                                        [&](std::size_t) { return prepare(x_.view(), c.compute, prepared, own); });
  if (!t) return t.status();
  out.prepare_seconds = t->seconds;
  return {};
}

PeerResult Runner::compare_with(Peer& peer, const Case& c) {
  const PeerTask task{bank_.original(), x_.view(), y_.view(), c.threads, c.hot, c.kernel->needs};
  const MatmulOptions options = matmul_options(c.compute, c.forced_provider);
  const Timed ours = [&](std::size_t i) {
    return bank_.multiply(i % bank_.copies(), x_.view(), y_.view(), engines_(c.threads), options);
  };
  return compare(peer, task, c.compute, options_.seconds, ours, [&]() -> Result<double> {
    const Result<Verification> v = verifier_.check(c, bank_.original(), x_.view(), y_.view());
    if (!v) return v.status();
    return v->rel_l2;
  });
}

Status Runner::run_steps(const Case& c, CaseResult& out) {
  Context& context = engines_(c.threads);
  if (Status s = bank_.load(c, context); !s) return s;
  if (Status s = prepare_matrices(c); !s) return s;
  if (Status s = verify(c, context, out); !s) return s;
  if (Status s = time(c, context, out); !s) return s;
  if (Status s = time_prepare(c, context, out); !s) return s;
  for (const auto& peer : rivals_.peers) out.peers.push_back(compare_with(*peer, c));
  if (rivals_.baseline) out.baseline = compare_with(*rivals_.baseline, c);
  return {};
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
  out.outcome = Outcome::timed;
  gops_[{c.kernel, c.threads, c.M}] = out.speed.gops;
  return out;
}

}  // namespace nibblas::bench
