// SPDX-License-Identifier: Apache-2.0
#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "nibblas/panel.hpp"
#include "support/fill.hpp"

namespace nibblas::bench {
namespace {

constexpr std::size_t kSampledRows = 64;
constexpr std::uint64_t kSampleSeed = 64;

}  // namespace

std::vector<std::size_t> rows_to_check(std::size_t M, std::size_t N, std::size_t K) {
  std::vector<std::size_t> rows;
  const std::size_t per_row = std::max<std::size_t>(M * K, 1);
  if (N <= kWholeCheck / per_row || N <= kSampledRows + 2 * kPanelRows) {
    rows.resize(N);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
  }
  const std::size_t last_panel = (panel_count(N) - 1) * kPanelRows;
  for (std::size_t r = 0; r < kPanelRows; ++r) rows.push_back(r);
  for (std::size_t r = last_panel; r < N; ++r) rows.push_back(r);
  test::Random random(kSampleSeed);
  for (std::size_t i = 0; i < kSampledRows; ++i) {
    rows.push_back(kPanelRows + random.below(last_panel - kPanelRows));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Result<Verification> Verifier::check(const Case& c, const WeightView& w, ConstMatrixView x, ConstMatrixView y) {
  if (source_ != c.source.get()) oracles_.clear();
  source_ = c.source.get();
  auto oracle = std::find_if(oracles_.begin(), oracles_.end(), [&](const test::Oracle& o) { return o.M == c.M; });
  if (oracle == oracles_.end()) {
    Result<test::Oracle> made = test::make_oracle(w, x, rows_to_check(c.M, w.N, w.K));
    if (!made) return made.status();
    oracle = oracles_.insert(oracles_.end(), std::move(*made));
  }
  const test::Comparison found = test::compare(*oracle, c.compute, y);
  Verification v{found.ok, found.rel_l2, {}};
  if (!found.ok) {
    v.why_not = fmt::format("Y[{}][{}] = {:.9g}, oracle {:.9g}, allowed error {:.3g}; relative L2 error {:.3g}",
                            found.worst_m, found.worst_n, found.got, found.want, found.bound, found.rel_l2);
  }
  return v;
}

}  // namespace nibblas::bench
