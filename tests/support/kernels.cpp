// SPDX-License-Identifier: Apache-2.0
#include "support/kernels.hpp"

#include <algorithm>
#include <stdexcept>

namespace nibblas::test {
namespace {

std::string identifier(std::string s) {
  std::replace(s.begin(), s.end(), '.', '_');
  return s;
}

}  // namespace

KernelRegistry& registry() {
  static KernelRegistry all = KernelRegistry::builtin(host_cpu(), {});
  return all;
}

std::string Key::name() const { return std::string(to_string(weights)) + "." + std::string(to_string(compute)); }

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (const DTypeInfo& t : kDTypes) {
    for (std::size_t c = 0; c < kComputeCount; ++c) {
      if (t.legal[c]) keys.push_back({t.dtype, static_cast<Compute>(c)});
    }
  }
  return keys;
}

bool Candidate::runs(std::size_t M) const {
  KernelRequest request;
  request.key = {M == 1 ? Op::gemv : Op::matmul, kernel->key.weights, kernel->key.compute};
  request.provider = provider->name();
  return registry().select(request) == kernel;
}

std::vector<Candidate> all_kernels() {
  std::vector<Candidate> out;
  for (const KernelProvider* provider : registry().providers()) {
    if (!registry().usable(*provider).usable) continue;
    for (const Kernel& kernel : provider->kernels()) {
      if (kernel.results == Results::canonical) out.push_back({provider, &kernel});
    }
  }
  return out;
}

std::vector<Candidate> kernels_of(Key key) {
  std::vector<Candidate> out = all_kernels();
  std::erase_if(out, [&](const Candidate& c) { return c.key() != key; });
  return out;
}

std::vector<Candidate> kernels_for_any_k() {
  std::vector<Candidate> out = all_kernels();
  std::erase_if(out, [](const Candidate& c) { return info(c.kernel->key.weights).block_elems != 1; });
  return out;
}

Candidate scalar_kernel(Key key) {
  for (const Candidate& c : kernels_of(key)) {
    if (c.provider->name() == "scalar") return c;
  }
  throw std::logic_error("no scalar kernel for " + key.name());
}

std::string test_name(const Candidate& c) { return identifier(c.kernel->name); }
std::string test_name(const Key& key) { return identifier(key.name()); }

}  // namespace nibblas::test
