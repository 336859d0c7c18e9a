// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nibblas/formats.hpp"
#include "nibblas/panel.hpp"

namespace nibblas::bench {
namespace {

using Sources = std::vector<std::shared_ptr<const WeightSource>>;

Sources made_sources(const RunOptions& options, std::vector<Skipped>& skipped) {
  std::vector<Shape> shapes = options.shapes;
  if (shapes.empty()) shapes.assign(std::begin(kDefaultShapes), std::end(kDefaultShapes));
  std::stable_sort(shapes.begin(), shapes.end(), [](Shape a, Shape b) { return a.K * a.N < b.K * b.N; });
  std::vector<DType> weights = options.weights;
  if (weights.empty()) {
    for (const DTypeInfo& t : kDTypes) weights.push_back(t.dtype);
  }
  Sources sources;
  for (const DType t : weights) {
    for (const Shape& s : shapes) {
      WeightSource w{"", t, s.N, s.K, {}};
      if (const Result<std::size_t> bytes = tensor_bytes(t, s.N, s.K); !bytes) {
        skipped.push_back({fmt::format("{} {}", to_string(t), w.label()), bytes.status().message()});
      } else {
        sources.push_back(std::make_shared<const WeightSource>(std::move(w)));
      }
    }
  }
  return sources;
}

Sources file_sources(const gguf::File& file, std::vector<Skipped>& skipped) {
  Sources sources;
  for (const gguf::Tensor& t : file.tensors()) {
    const Result<WeightView> view = t.weights();
    if (t.ne.size() < 2) {
      skipped.push_back({t.name, "a vector, no matrix"});
    } else if (!view) {
      skipped.push_back({t.name, view.status().message()});
    } else {
      sources.push_back(
          std::make_shared<const WeightSource>(WeightSource{t.name, view->dtype, view->N, view->K, *view}));
    }
  }
  return sources;
}

Status check_providers(const RunOptions& options, const KernelRegistry& registry) {
  for (const std::string& name : options.providers) {
    if (name.empty()) continue;
    const KernelProvider* provider = registry.find(name);
    if (provider == nullptr) {
      std::vector<std::string> names;
      for (const KernelProvider* p : registry.providers()) names.emplace_back(p->name());
      return {StatusCode::not_found, fmt::format("unknown provider '{}'; valid: {}", name, fmt::join(names, ", "))};
    }
    if (const Availability a = registry.usable(*provider); !a.usable) {
      return {StatusCode::unsupported, fmt::format("provider '{}' cannot run here: {}", name, a.reason)};
    }
  }
  return {};
}

/// The kernel for a case, or why there is none.
std::string resolve_into(Case& c, const KernelRegistry& registry) {
  KernelRequest request;
  request.key = {c.M == 1 ? Op::gemv : Op::matmul, c.source->dtype, c.compute};
  request.provider = c.forced_provider;
  request.allow_tolerance = !c.forced_provider.empty();
  const Resolution found = registry.resolve(request);
  if (!found.status) return found.status.message();
  c.provider = found.provider;
  c.kernel = found.kernel;
  return {};
}

std::vector<Compute> computes_of(const RunOptions& options, DType t) {
  std::vector<Compute> computes;
  for (const Compute c : options.computes) computes.push_back(resolve_compute(t, c));
  if (!options.computes.empty()) return computes;
  for (const Compute c : {Compute::f32, Compute::int8, Compute::int8_token}) {
    if (is_legal(t, c)) computes.push_back(c);
  }
  return computes;
}

void add_cases(const RunOptions& options, const KernelRegistry& registry, Case c, CaseList& list) {
  std::vector<std::size_t> m = options.m;
  const bool simd_m_too = m.empty() && options.gguf.empty();
  if (m.empty()) m.assign(std::begin(kDefaultM), std::end(kDefaultM));
  if (simd_m_too) m.push_back(kDefaultSimdM);
  for (const std::size_t tokens : m) {
    c.M = tokens;
    if (const std::string why_not = resolve_into(c, registry); !why_not.empty()) {
      c.provider = c.forced_provider;
      list.skipped.push_back({c.name(), why_not});
      continue;
    }
    if (simd_m_too && tokens == kDefaultSimdM && registry.find(c.provider)->priority() == 0) continue;
    list.cases.push_back(c);
  }
}

}  // namespace

std::string WeightSource::shape() const { return fmt::format("{}x{}", K, N); }

std::string WeightSource::label() const { return tensor.empty() ? shape() : tensor; }

std::string Case::name() const {
  return fmt::format("{}/{}/{}/{}/M:{}/threads:{}/{}{}", to_string(source->dtype), to_string(compute),
                     provider.empty() ? "any" : provider, source->label(), M, threads, packed ? "packed" : "zero_copy",
                     hot ? "/hot" : "");
}

Result<CaseList> make_cases(const RunOptions& options, const KernelRegistry& registry, const gguf::File* file) {
  if (Status s = registry.config_status(); !s) return s;
  if (Status s = check_providers(options, registry); !s) return s;
  CaseList list;
  const Sources sources = file != nullptr ? file_sources(*file, list.skipped) : made_sources(options, list.skipped);
  for (const auto& source : sources) {
    for (const Compute compute : computes_of(options, source->dtype)) {
      if (!is_legal(source->dtype, compute)) {
        list.skipped.push_back(
            {fmt::format("{}/{}/{}", to_string(source->dtype), to_string(compute), source->label()),
             fmt::format("{} weights have no {} compute", to_string(source->dtype), to_string(compute))});
        continue;
      }
      for (const std::string& provider : options.providers) {
        for (const std::size_t threads : options.threads) {
          Case c;
          c.source = source;
          c.compute = compute;
          c.threads = threads;
          c.packed = options.packed;
          c.hot = options.hot;
          c.forced_provider = provider;
          add_cases(options, registry, std::move(c), list);
        }
      }
    }
  }
  return list;
}

}  // namespace nibblas::bench
