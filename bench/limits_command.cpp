// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "limits/limits.hpp"
#include "machine.hpp"

namespace nibblas::bench {
namespace {

void print_limits(const std::vector<Limits>& all) {
  fmt::print("{:>7}  {:<8} {:<6} {:<24} {:>9}\n", "threads", "limit", "ISA", "measured with", "");
  for (const Limits& l : all) {
    const std::string how =
        fmt::format("{} stream{}, {}", l.dram_streams, l.dram_streams == 1 ? "" : "s",
                    l.dram_prefetch == 0 ? std::string("no prefetch") : fmt::format("{} B ahead", l.dram_prefetch));
    fmt::print("{:>7}  {:<8} {:<6} {:<24} {:>9.1f} GB/s\n", l.threads, "DRAM", "", how, l.dram_gbs);
    for (const IsaPeak& p : l.peaks) {
      fmt::print("{:>7}  {:<8} {:<6} {:<24} {:>9.1f} GFLOP/s\n", l.threads, "f32", p.isa, p.f32_how, p.f32_gops);
      fmt::print("{:>7}  {:<8} {:<6} {:<24} {:>9.1f} GOP/s\n", l.threads, "int8", p.isa, p.int8_how, p.int8_gops);
    }
  }
}

}  // namespace

int limits_command(const LimitsOptions& options) {
  const Machine machine = this_machine();
  std::vector<std::size_t> threads{1};
  if (machine.threads > 1) threads.push_back(machine.threads);
  const Result<std::vector<Limits>> limits = measure_limits(machine.cpu, threads);
  if (!limits) {
    fmt::print(stderr, "nibblas-bench: {}\n", limits.status().message());
    return kExitFailed;
  }
  print_limits(*limits);
  if (options.json.empty()) return 0;
  if (const Status s = write_json(options.json, {{"machine", machine_json(machine, *limits)}}); !s) {
    fmt::print(stderr, "nibblas-bench: {}\n", s.message());
    return kExitFailed;
  }
  return 0;
}

}  // namespace nibblas::bench
