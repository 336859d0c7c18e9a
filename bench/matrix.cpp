// SPDX-License-Identifier: Apache-2.0
#include "matrix.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace nibblas::bench {
namespace {

constexpr Compute kComputes[] = {Compute::f32, Compute::int8, Compute::int8_token};

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

std::string legality(const DTypeInfo& t, Compute compute) {
  if (!is_legal(t.dtype, compute)) return "";
  return compute == t.default_compute ? "default" : "yes";
}

/// The computes of a format that a provider has kernels for: "f32, int8", or "all" legal ones.
std::string offered(const KernelProvider& provider, const DTypeInfo& t) {
  std::vector<std::string> names;
  std::size_t legal = 0;
  for (const Compute compute : kComputes) {
    if (!is_legal(t.dtype, compute)) continue;
    ++legal;
    const KernelKey key{Op::matmul, t.dtype, compute};
    const std::span<const Kernel> kernels = provider.kernels();
    if (std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.key == key; })) {
      names.emplace_back(to_string(compute));
    }
  }
  return names.size() == legal ? "all" : joined(names, ", ");
}

}  // namespace

std::string support_matrix(const KernelRegistry& registry) {
  std::vector<const KernelProvider*> providers = registry.providers();
  std::sort(providers.begin(), providers.end(),
            [](const KernelProvider* a, const KernelProvider* b) { return a->priority() < b->priority(); });
  std::string out = "| weights | f32 | int8 | int8_token |";
  std::string rule = "|---|---|---|---|";
  for (const KernelProvider* p : providers) {
    out.append(" ").append(p->name()).append(" |");
    rule += "---|";
  }
  out.append("\n").append(rule).append("\n");
  std::vector<std::pair<std::string, std::string>> rows;  // names of formats, their cells
  for (const DTypeInfo& t : kDTypes) {
    std::vector<std::string> cells;
    for (const Compute compute : kComputes) cells.push_back(legality(t, compute));
    for (const KernelProvider* p : providers) cells.push_back(offered(*p, t));
    std::string line = joined(cells, " | ");
    if (!rows.empty() && rows.back().second == line) {
      rows.back().first.append(", ").append(t.name);
    } else {
      rows.emplace_back(t.name, std::move(line));
    }
  }
  for (const auto& [formats, cells] : rows) {
    out.append("| ").append(formats).append(" | ").append(cells).append(" |\n");
  }
  return out;
}

}  // namespace nibblas::bench
