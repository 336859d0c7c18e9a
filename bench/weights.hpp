// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "cases.hpp"
#include "nibblas/buffer.hpp"
#include "nibblas/matmul.hpp"
#include "nibblas/packed.hpp"

namespace nibblas::bench {

/// Cold weights come from a set of copies of more than 600 MB, which no cache holds.
inline constexpr std::size_t kColdBytes = std::size_t{640} * 1000 * 1000;

/// How copies of `bytes` lie in memory.
struct CopyPlan {
  std::size_t copies = 1;
  std::size_t stride = 0;  ///< multiple of 64
  /// The copies alone are less than kColdBytes: flush the caches before each pass through them. (Small tensors; a pass
  /// is no longer than kMaxRepetitions.)
  bool needs_flush = false;
};
CopyPlan plan_copies(std::size_t bytes, bool hot);

/// The weights of the present case, in as many copies as its timing rotates through.
class WeightBank {
 public:
  /// Makes or finds the weights of c. Cheap when the case before had the same.
  Status load(const Case& c, Context& context);

  const WeightView& original() const { return original_; }
  std::size_t copies() const { return plan_.copies; }
  Status multiply(std::size_t copy, ConstMatrixView x, MatrixView y, Context& context, const MatmulOptions& options);
  /// Pushes everything out of the caches if the copies are too few to do so by themselves.
  void flush_if_needed() const;

 private:
  Status load_source(const Case& c);
  Status copy_image(const Case& c, Context& context);

  const WeightSource* source_ = nullptr;
  const Kernel* kernel_ = nullptr;
  bool packed_ = false;
  bool ready_ = false;
  WeightView original_;
  Buffer made_;
  Buffer arena_;
  CopyPlan plan_;
  std::vector<WeightView> views_;
  std::vector<PackedWeights> panels_;
};

}  // namespace nibblas::bench
