// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nibblas/registry.hpp"

// What there is to test on this machine. Everything comes from the registry and the table of formats, so that a new
// kernel, format or provider is tested without being listed anywhere.

namespace nibblas::test {

/// The built-in providers, with nothing forced or switched off, whatever the environment says.
KernelRegistry& registry();

/// A legal (format, compute).
struct Key {
  DType weights = DType::f32;
  Compute compute = Compute::f32;
  auto operator<=>(const Key&) const = default;
  /// "q4_0.int8"
  std::string name() const;
};
std::vector<Key> all_keys();

/// A kernel that can run here.
struct Candidate {
  const KernelProvider* provider = nullptr;
  const Kernel* kernel = nullptr;
  Key key() const { return {kernel->key.weights, kernel->key.compute}; }
  /// Does a product of M rows that asks for this provider get this kernel?
  bool runs(std::size_t M) const;
};
/// Every kernel with canonical results of every provider that is usable here; those of one key only; those of formats
/// without blocks, which take any K.
std::vector<Candidate> all_kernels();
std::vector<Candidate> kernels_of(Key key);
std::vector<Candidate> kernels_for_any_k();
/// The provider that defines the results.
Candidate scalar_kernel(Key key);

/// Name of a parameterised test: letters, digits and underscores.
std::string test_name(const Candidate& c);
std::string test_name(const Key& key);

}  // namespace nibblas::test
