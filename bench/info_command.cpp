// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli.hpp"
#include "commands.hpp"
#include "machine.hpp"
#include "matrix.hpp"
#include "nibblas/version.hpp"

namespace nibblas::bench {
namespace {

constexpr Compute kComputes[] = {Compute::f32, Compute::int8, Compute::int8_token};

std::string kib(std::size_t bytes) { return bytes == 0 ? "unknown" : fmt::format("{} KiB", bytes / 1024); }

void print_machine(const Machine& m) {
  fmt::print("nibblas   {}, {}\n", NIBBLAS_VERSION, m.compiler);
  fmt::print("system    {}, {}\n", m.system, m.cpu.arch);
  fmt::print("CPU       {}{}{}\n", m.cpu.brand.empty() ? "unknown" : m.cpu.brand, m.cpu.vendor.empty() ? "" : ", ",
             m.cpu.vendor);
  fmt::print("features  {}  (CPU has them and the OS saves their registers)\n", to_string(m.cpu.features));
  fmt::print("caches    L1d {}, L2 {}, L3 {}\n", kib(m.cpu.caches.l1d), kib(m.cpu.caches.l2), kib(m.cpu.caches.l3));
  fmt::print("affinity  CPUs {}; {} threads by default\n", m.cpus.empty() ? "unknown" : ranges(m.cpus), m.threads);
}

void print_providers(const KernelRegistry& registry) {
  fmt::print("\n{:<12} {:>8} {:>8}  {}\n", "provider", "priority", "kernels", "usable");
  for (const KernelProvider* p : registry.providers()) {
    const Availability a = registry.usable(*p);
    fmt::print("{:<12} {:>8} {:>8}  {}\n", p->name(), p->priority(), p->kernels().size(),
               a.usable ? "yes" : "no: " + a.reason);
  }
}

std::string losers(const Resolution& found) {
  std::vector<std::string> lost;
  for (const Candidate& c : found.trail) {
    if (!c.chosen) lost.push_back(fmt::format("{}: {}", c.provider, c.reason));
  }
  return fmt::format("{}", fmt::join(lost, "; "));
}

void print_kernel(const char* op, const DTypeInfo& t, Compute compute, const Resolution& found, std::string_view lost) {
  fmt::print("{:<12} {:<12} {:<11} {:<37} {}\n", op, t.name,
             fmt::format("{}{}", to_string(compute), compute == t.default_compute ? "*" : ""),
             found.kernel != nullptr ? found.kernel->name : "none: " + found.status.message(), lost);
}

void print_kernels(const KernelRegistry& registry) {
  fmt::print("\n{:<12} {:<12} {:<11} {:<37} {}\n", "op", "weights", "compute", "kernel", "why others lost");
  std::string before;
  for (const DTypeInfo& t : kDTypes) {
    for (const Compute compute : kComputes) {
      if (!is_legal(t.dtype, compute)) continue;
      const Resolution matmul = registry.resolve({{Op::matmul, t.dtype, compute}, {}, false, 0});
      const Resolution gemv = registry.resolve({{Op::gemv, t.dtype, compute}, {}, false, 0});
      const std::string lost = losers(matmul);
      const std::string gemv_lost = losers(gemv);
      const bool same = matmul.kernel == gemv.kernel && lost == gemv_lost;
      print_kernel(same ? "matmul, gemv" : "matmul", t, compute, matmul, lost == before ? "as above" : lost);
      if (!same) print_kernel("gemv", t, compute, gemv, gemv_lost);
      before = same ? lost : std::string();
    }
  }
  fmt::print("* the format's default\n");
}

void print_explanations(const KernelRegistry& registry) {
  for (const DTypeInfo& t : kDTypes) {
    for (const Compute compute : kComputes) {
      if (!is_legal(t.dtype, compute)) continue;
      for (const Op op : {Op::matmul, Op::gemv}) {
        fmt::print("\n{}\n", registry.explain({{op, t.dtype, compute}, {}, false, 0}));
      }
    }
  }
}

}  // namespace

int info_command(const InfoOptions& options, KernelRegistry& registry) {
  if (options.matrix) {
    fmt::print("{}", support_matrix(registry));
    return 0;
  }
  print_machine(this_machine());
  if (const Status& s = registry.config_status(); !s) {
    fmt::print(stderr, "nibblas-bench: {}\n", s.message());
    return kExitUsage;
  }
  print_providers(registry);
  print_kernels(registry);
  if (options.verbose) print_explanations(registry);
  return 0;
}

}  // namespace nibblas::bench
