// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "layer.hpp"
#include "machine.hpp"
#include "report.hpp"

namespace nibblas::bench {
namespace {

void print_header(const LayerOptions& o) {
  fmt::print("hidden {}, ffn {}, {} heads, {} kv heads; weights packed{}\n", o.hidden, o.ffn, o.heads, o.kv_heads,
             o.hot ? ", hot" : "");
  fmt::print("{:<12} {:<12} {:>5} {:>3} {:>10} {:>8} {:>8} {:>7} {:>6} {:>6} {:>9}\n", "block", "weights", "M", "thr",
             "ms", "GOP/s", "wGB/s", "% limit", "prep", "silu", "rel L2");
}

void print(const LayerResult& r) {
  const LayerCase& c = r.spec;
  fmt::print("{:<12} {:<12} {:>5} {:>3}", to_string(c.block), to_string(c.dtype), c.M, c.threads);
  if (!r.why_not.empty()) {
    fmt::print(" FAILED: {}\n", r.why_not);
  } else {
    fmt::print(" {:>10.4f} {:>8.1f} {:>8.2f} {:>6.1f}% {:>5.1f}% {:>5.1f}% {:>9.2e}\n", r.seconds * 1e3, r.speed.gops,
               r.speed.weight_gbs, 100 * r.speed.fraction_of_limit(), 100 * r.prepare_share, 100 * r.silu_share,
               r.rel_l2);
  }
  std::fflush(stdout);
}

nlohmann::json layer_json(const LayerResult& r) {
  const LayerCase& c = r.spec;
  nlohmann::json j = {
      {"block", to_string(c.block)}, {"weights", to_string(c.dtype)}, {"M", c.M}, {"threads", c.threads}};
  if (!r.why_not.empty()) {
    j["reason"] = r.why_not;
    return j;
  }
  j.update({{"kernel", r.kernel},
            {"repetitions", r.repetitions},
            {"ms_median", r.seconds * 1e3},
            {"gops", r.speed.gops},
            {"weight_gbs", r.speed.weight_gbs},
            {"limit_gbs", r.speed.limit_gbs},
            {"limit_gops", r.speed.limit_gops},
            {"fraction_of_limit", r.speed.fraction_of_limit()},
            {"prepare_share", r.prepare_share},
            {"silu_share", r.silu_share},
            {"rel_l2_err", r.rel_l2}});
  return j;
}

int fail(int code, const std::string& message) {
  fmt::print(stderr, "nibblas-bench: {}\n", message);
  return code;
}

/// The formats with their kernels, or the reason why one has none.
Result<std::vector<const Kernel*>> kernels_for(const LayerOptions& options, const KernelRegistry& registry) {
  if (Status s = registry.config_status(); !s) return s;
  std::vector<const Kernel*> kernels;
  for (const DType t : options.weights) {
    KernelRequest request;
    request.key = {Op::matmul, t, info(t).default_compute};
    request.tiled_only = true;
    const Resolution found = registry.resolve(request);
    if (!found.status) return found.status;
    for (const LayerBlock block : {LayerBlock::swiglu, LayerBlock::projections}) {
      for (const LayerMatrix& m : matrices_of(block, options)) {
        if (const Result<std::size_t> bytes = packed_bytes(t, m.N, m.K); !bytes) return bytes.status();
      }
    }
    kernels.push_back(found.kernel);
  }
  return kernels;
}

}  // namespace

int layer_command(const LayerOptions& options, KernelRegistry& shared) {
  // Every product and every preparation by the provider named.
  KernelRegistry forced;
  if (!options.provider.empty()) forced = KernelRegistry::builtin(shared.cpu(), {options.provider, {}, {}});
  KernelRegistry& registry = options.provider.empty() ? shared : forced;
  const Result<std::vector<const Kernel*>> kernels = kernels_for(options, registry);
  if (!kernels) return fail(kExitUsage, kernels.status().message());
  const Machine machine = this_machine();
  const Result<std::vector<Limits>> limits = measure_limits(machine.cpu, options.threads);
  if (!limits) return fail(kExitFailed, limits.status().message());
  for (const Limits& l : *limits) fmt::print("{}\n", limits_line(l));
  print_header(options);
  LayerRunner runner(options, registry);
  nlohmann::json timed = nlohmann::json::array();
  nlohmann::json failed = nlohmann::json::array();
  for (const LayerBlock block : {LayerBlock::swiglu, LayerBlock::projections}) {
    for (std::size_t i = 0; i < kernels->size(); ++i) {
      for (const Limits& l : *limits) {
        const Kernel& kernel = *(*kernels)[i];
        for (const std::size_t M : options.m) {
          const LayerResult r = runner.run({block, options.weights[i], M, l.threads}, kernel, l);
          print(r);
          (r.why_not.empty() ? timed : failed).push_back(layer_json(r));
        }
      }
    }
  }
  const bool ok = failed.empty();
  if (!options.json.empty()) {
    const Status s = write_json(options.json, {{"machine", machine_json(machine, *limits)},
                                               {"hidden", options.hidden},
                                               {"ffn", options.ffn},
                                               {"heads", options.heads},
                                               {"kv_heads", options.kv_heads},
                                               {"hot", options.hot},
                                               {"layer", std::move(timed)},
                                               {"failed", std::move(failed)}});
    if (!s) return fail(kExitFailed, s.message());
  }
  return ok ? 0 : kExitFailed;
}

}  // namespace nibblas::bench
