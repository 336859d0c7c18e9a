// SPDX-License-Identifier: Apache-2.0
#include "tile_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "metrics.hpp"
#include "nibblas/panel.hpp"
#include "support/fill.hpp"
#include "timing.hpp"

namespace nibblas::bench {

std::vector<NamedPlan> tile_plans(const Case& c, const TilingOptions& options) {
  std::vector<NamedPlan> plans;
  // As many splits as there can be: one a tile of tokens.
  plans.push_back({"each token tile alone", {0, 0, c.M}});
  std::set<std::size_t> row_blocks{options.row_block};
  const std::size_t most = std::min(panel_count(c.source->N), kMaxTilePanels);
  for (std::size_t panels = 1; options.sweep && panels <= most; panels *= 2) row_blocks.insert(panels);
  for (const std::size_t panels : row_blocks) plans.push_back({fmt::format("row block {}", panels), {panels, 0, 1}});
  plans.push_back({"chosen", {}});
  return plans;
}

Status TilingRunner::multiply(const Case& c, std::size_t copy, const TileOverride& tiles, MatmulStats* stats) {
  MatmulOptions o = matmul_options(c.compute, c.forced_provider);
  o.tiles = tiles;
  o.stats = stats;
  return bank_.multiply(copy, x_.view(), y_.view(), engines_(c.threads), o);
}

/// Each plan's Y against the chosen one's, and that against the oracle.
Status TilingRunner::check_results(const Case& c, TilingResult& out) {
  std::vector<float> chosen(c.M * c.source->N);
  const double whole = weight_bytes(c.source->dtype, c.source->N, c.source->K, c.packed);
  const double x_bytes = static_cast<double>(Activations::bytes(c.compute, c.M, c.source->K));
  const double y_bytes = static_cast<double>(chosen.size() * sizeof(float));
  for (auto p = out.plans.rbegin(); p != out.plans.rend(); ++p) {
    y_.fill_nan();
    MatmulStats stats;
    if (Status s = multiply(c, 0, p->plan.tiles, &stats); !s) return s;
    if (p == out.plans.rbegin()) std::copy_n(y_.view().data, chosen.size(), chosen.data());
    p->same_bits = std::memcmp(chosen.data(), y_.view().data, chosen.size() * sizeof(float)) == 0;
    const auto read = static_cast<double>(stats.weight_bytes);
    p->weight_reads = whole > 0 ? read / whole : 0;
    p->memory_bytes = read + x_bytes + y_bytes;
    if (!p->same_bits) return {StatusCode::invalid_data, fmt::format("'{}' gives other bits", p->plan.name)};
  }
  const Result<Verification> v = verifier_.check(c, bank_.original(), x_.view(), {chosen.data(), c.M, c.source->N});
  if (!v) return v.status();
  out.rel_l2 = v->rel_l2;
  return v->ok ? Status{} : Status{StatusCode::invalid_data, "verification failed: " + v->why_not};
}

Status TilingRunner::time(const Case& c, TilingResult& out) {
  std::vector<Timed> ways;
  for (const PlanResult& p : out.plans) {
    ways.emplace_back([this, &c, &p](std::size_t copy) { return multiply(c, copy, p.plan.tiles, nullptr); });
  }
  bank_.flush_if_needed();
  const Result<std::vector<Timing>> t = time_alternately(bank_.copies(), options_.run.seconds, ways);
  if (!t) return t.status();
  for (std::size_t i = 0; i < out.plans.size(); ++i) out.plans[i].seconds = (*t)[i].seconds;
  return {};
}

TilingResult TilingRunner::run(const Case& c) {
  TilingResult out;
  out.spec = c;
  if (!c.kernel->is_tiled()) {
    out.why_not = fmt::format("{} is not tiled: it plans for itself", c.kernel->name);
    return out;
  }
  for (NamedPlan& p : tile_plans(c, options_)) out.plans.push_back({std::move(p), 0, 0, 0, false});
  Status s = bank_.load(c, engines_(c.threads));
  if (s.ok()) s = x_.resize(c.M, c.source->K);
  if (s.ok()) s = y_.resize(c.M, c.source->N);
  if (s.ok()) {
    test::fill_gaussian_with_outliers(x_.view(), kActivationSeed);
    s = check_results(c, out);
  }
  if (s.ok()) s = time(c, out);
  out.failed = !s;
  out.why_not = s.message();
  return out;
}

}  // namespace nibblas::bench
