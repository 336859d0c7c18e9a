// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nibblas/gguf.hpp"
#include "nibblas/kernel.hpp"
#include "nibblas/registry.hpp"
#include "options.hpp"

namespace nibblas::bench {

/// Weights to run: made ones, or a tensor of a file.
struct WeightSource {
  std::string tensor;  ///< its name; empty when the weights are made
  DType dtype = DType::f32;
  std::size_t N = 0;
  std::size_t K = 0;
  std::optional<WeightView> view;  ///< of the file

  std::string shape() const;  ///< "4096x1024": KxN
  std::string label() const;  ///< the tensor's name, or the shape
};

/// What run takes when nothing is named.
inline constexpr Shape kDefaultShapes[] = {{1024, 1024}, {4096, 1024}, {4096, 4096}};
inline constexpr std::size_t kDefaultM[] = {1, 16};
inline constexpr std::size_t kDefaultSimdM = 512;  ///< but on scalar code and tensors of a file

struct Case {
  std::shared_ptr<const WeightSource> source;
  Compute compute = Compute::f32;
  std::size_t M = 1;
  std::size_t threads = 1;
  bool packed = true;
  bool hot = false;
  std::string forced_provider;  ///< "" = the registry's choice
  std::string provider;
  const Kernel* kernel = nullptr;

  std::string name() const;  ///< unique in a run: "q4_0/int8/avx512/4096x4096/M:16/threads:1/packed"
};

struct Skipped {
  std::string name;
  std::string reason;
};

struct CaseList {
  std::vector<Case> cases;  ///< those of one weight source are neighbours, small shapes first
  std::vector<Skipped> skipped;
};

/// Every combination that the options name. Combinations that cannot run, and tensors of formats that nibblas does not
/// have, are listed as skipped. `file` is null without --gguf. Errors: a provider that does not exist or cannot run
/// here.
Result<CaseList> make_cases(const RunOptions& options, const KernelRegistry& registry, const gguf::File* file);

}  // namespace nibblas::bench
