// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cases.hpp"
#include "engines.hpp"
#include "limits/limits.hpp"
#include "metrics.hpp"
#include "nibblas/matmul.hpp"
#include "peers/compare.hpp"
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
  /// Median of prepare() alone; none when the kernel reads X as it is.
  std::optional<double> prepare_seconds;
  std::vector<PeerResult> peers;
  std::optional<PeerResult> baseline;

  double prepare_share() const { return prepare_seconds && seconds > 0 ? *prepare_seconds / seconds : 0; }
  /// The fastest peer that was timed, or null.
  const PeerResult* best_peer() const;
};

/// What each case is compared with.
struct Rivals {
  std::vector<std::unique_ptr<Peer>> peers;
  std::unique_ptr<Peer> baseline;
};
Rivals make_rivals(const RunOptions& options);

/// Runs cases one after another: weights, one product, its verification, then timing.
class Runner {
 public:
  Runner(const RunOptions& options, KernelRegistry& registry, std::vector<Limits> limits, Rivals rivals = {});
  CaseResult run(const Case& c);

 private:
  /// Speed seen before, to predict: by kernel, threads and M.
  using RateKey = std::tuple<const Kernel*, std::size_t, std::size_t>;

  Status prepare_matrices(const Case& c);
  double predicted_seconds(const Case& c) const;
  Status verify(const Case& c, Context& context, CaseResult& out);
  Status time(const Case& c, Context& context, CaseResult& out);
  Status time_prepare(const Case& c, Context& context, CaseResult& out);
  PeerResult compare_with(Peer& peer, const Case& c);
  Status run_steps(const Case& c, CaseResult& out);

  const RunOptions& options_;
  KernelRegistry& registry_;
  std::vector<Limits> limits_;
  Engines engines_;
  std::map<RateKey, double> gops_;
  WeightBank bank_;
  Verifier verifier_;
  Rivals rivals_;
  FloatMatrix x_;
  FloatMatrix y_;
};

}  // namespace nibblas::bench
