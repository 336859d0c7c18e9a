// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cases.hpp"
#include "limits/limits.hpp"
#include "metrics.hpp"
#include "nibblas/matmul.hpp"
#include "verify.hpp"
#include "weights.hpp"

namespace nibblas::bench {

enum class Outcome : std::uint8_t { timed, skipped, failed };

struct CaseResult {
  Case spec;
  Outcome outcome = Outcome::failed;
  std::string why;  ///< it was skipped or failed
  std::string kernel;
  double rel_l2 = 0;
  double seconds = 0;  ///< median
  std::size_t repetitions = 0;
  Speed speed;
  std::string limit_isa;  ///< whose peak limit_gops is
};

/// Runs cases one after another: weights, one product, its verification, then timing.
class Runner {
 public:
  Runner(const RunOptions& options, KernelRegistry& registry, std::vector<Limits> limits);
  CaseResult run(const Case& c);

 private:
  /// What one thread count needs.
  struct Engine {
    std::unique_ptr<ThreadPool> pool;
    Context context;
  };
  /// Speed seen before, to predict: by kernel, threads and M.
  using RateKey = std::tuple<const Kernel*, std::size_t, std::size_t>;

  Engine& engine(std::size_t threads);
  void prepare_matrices(const Case& c);
  double predicted_seconds(const Case& c) const;
  Status verify(const Case& c, Context& context, CaseResult& out);
  Status time(const Case& c, Context& context, CaseResult& out);
  Status run_steps(const Case& c, CaseResult& out);

  const RunOptions& options_;
  KernelRegistry& registry_;
  std::vector<Limits> limits_;
  std::map<std::size_t, Engine> engines_;
  std::map<RateKey, double> gops_;
  WeightBank bank_;
  Verifier verifier_;
  std::vector<float> x_;
  std::size_t x_rows_ = 0;
  std::size_t x_cols_ = 0;
  std::vector<float> y_;
};

}  // namespace nibblas::bench
