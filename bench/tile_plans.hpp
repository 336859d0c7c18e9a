// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cases.hpp"
#include "engines.hpp"
#include "verify.hpp"
#include "weights.hpp"

namespace nibblas::bench {

/// A way to cut the product.
struct NamedPlan {
  std::string name;
  TileOverride tiles;
};

/// Each tile of tokens by itself, a fixed row block, and what the library chooses, which is last. With `sweep` row
/// blocks of 1, 2, 4, ... panels stand before it.
std::vector<NamedPlan> tile_plans(const Case& c, const TilingOptions& options);

struct PlanResult {
  NamedPlan plan;
  double seconds = 0;       ///< median
  double weight_reads = 0;  ///< how often W is read from memory
  double memory_bytes = 0;  ///< modelled: those reads, prepared activations and Y
  bool same_bits = false;   ///< as the chosen plan's Y
};

struct TilingResult {
  Case spec;
  std::string why_not;  ///< it was not timed
  bool failed = false;  ///< a wrong result or other bits; else why_not only says that there is nothing to compare
  double rel_l2 = 0;
  std::vector<PlanResult> plans;
};

class TilingRunner {
 public:
  TilingRunner(const TilingOptions& options, KernelRegistry& registry) : options_(options), engines_(registry) {}
  TilingResult run(const Case& c);

 private:
  Status multiply(const Case& c, std::size_t copy, const TileOverride& tiles, MatmulStats* stats);
  Status check_results(const Case& c, TilingResult& out);
  Status time(const Case& c, TilingResult& out);

  const TilingOptions& options_;
  Engines engines_;
  WeightBank bank_;
  Verifier verifier_;
  FloatMatrix x_;
  FloatMatrix y_;
};

}  // namespace nibblas::bench
