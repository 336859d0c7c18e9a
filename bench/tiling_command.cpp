// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "cli.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "machine.hpp"
#include "tile_plans.hpp"

namespace nibblas::bench {
namespace {

void print(const TilingResult& r) {
  fmt::print("{}\n", r.spec.name());
  if (!r.why_not.empty()) {
    fmt::print("  {}: {}\n", r.failed ? "FAILED" : "skipped", r.why_not);
    return;
  }
  const double chosen = r.plans.back().seconds;
  fmt::print("  {:<22} {:>10} {:>9} {:>8} {:>8} {:>9}\n", "plan", "ms", "x chosen", "GOP/s", "W reads", "MB");
  for (const PlanResult& p : r.plans) {
    const Speed v = speed(r.spec.M, r.spec.source->N, r.spec.source->K, 0, p.seconds, 0, 0);
    fmt::print("  {:<22} {:>10.4f} {:>9.3f} {:>8.1f} {:>8.2f} {:>9.2f}\n", p.plan.name, p.seconds * 1e3,
               chosen > 0 ? p.seconds / chosen : 0, v.gops, p.weight_reads, p.memory_bytes * 1e-6);
  }
  fmt::print("  all bit-identical; relative L2 error {:.2e}\n", r.rel_l2);
  std::fflush(stdout);
}

nlohmann::json plans_json(const TilingResult& r) {
  nlohmann::json plans = nlohmann::json::array();
  for (const PlanResult& p : r.plans) {
    plans.push_back({{"plan", p.plan.name},
                     {"ms_median", p.seconds * 1e3},
                     {"of_chosen", p.seconds / r.plans.back().seconds},
                     {"weight_reads", p.weight_reads},
                     {"memory_bytes", p.memory_bytes},
                     {"same_bits", p.same_bits}});
  }
  const Case& c = r.spec;
  return {{"name", c.name()},
          {"kernel", c.kernel->name},
          {"weights", to_string(c.source->dtype)},
          {"compute", to_string(c.compute)},
          {"M", c.M},
          {"N", c.source->N},
          {"K", c.source->K},
          {"threads", c.threads},
          {"packed", c.packed},
          {"rel_l2_err", r.rel_l2},
          {"plans", std::move(plans)}};
}

}  // namespace

int tiling_command(const TilingOptions& options, KernelRegistry& registry) {
  const Result<CaseList> list = make_cases(options.run, registry, nullptr);
  if (!list) {
    fmt::print(stderr, "nibblas-bench: {}\n", list.status().message());
    return kExitUsage;
  }
  for (const Skipped& s : list->skipped) fmt::print("skipped {}: {}\n", s.name, s.reason);
  if (list->cases.empty()) return kExitUsage;
  TilingRunner runner(options, registry);
  bool failed = false;
  nlohmann::json cases = nlohmann::json::array();
  nlohmann::json not_timed = nlohmann::json::array();
  for (const Case& c : list->cases) {
    const TilingResult r = runner.run(c);
    print(r);
    failed = failed || r.failed;
    if (r.why_not.empty()) {
      cases.push_back(plans_json(r));
    } else {
      not_timed.push_back({{"name", c.name()}, {"reason", r.why_not}});
    }
  }
  if (!options.run.json.empty()) {
    const Status s = write_json(options.run.json, {{"machine", machine_json(this_machine(), {})},
                                                   {"tiling", std::move(cases)},
                                                   {"not_timed", std::move(not_timed)}});
    if (!s) {
      fmt::print(stderr, "nibblas-bench: {}\n", s.message());
      return kExitFailed;
    }
  }
  return failed ? kExitFailed : 0;
}

}  // namespace nibblas::bench
