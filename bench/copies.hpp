// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nibblas/buffer.hpp"
#include "nibblas/status.hpp"

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

/// Memory for copies of weights, on huge pages where the system gives them: the same for us and for every peer.
class CopyArena {
 public:
  /// Room for copies of `bytes`; what was there before is lost. Errors: out_of_memory.
  Status reserve(std::size_t bytes, bool hot);
  void release();

  std::size_t copies() const { return plan_.copies; }
  std::size_t size() const { return memory_.size(); }
  std::byte* at(std::size_t copy) { return memory_.data() + copy * plan_.stride; }
  const std::byte* at(std::size_t copy) const { return memory_.data() + copy * plan_.stride; }
  /// Pushes everything out of the caches if the copies are too few to do so by themselves.
  void flush_if_needed() const;

 private:
  CopyPlan plan_;
  Buffer memory_;
};

}  // namespace nibblas::bench
