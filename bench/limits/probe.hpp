// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "limits/limits.hpp"
#include "nibblas/executor.hpp"
#include "timing.hpp"

namespace nibblas::bench {

/// How long something took, and the limits meanwhile.
struct TimingBesideLimits {
  Timing timing;
  double gops = 0;  ///< 1e9 operations a second, at the peak
  double gbs = 0;   ///< 1e9 bytes a second, read
};

/// The limits of one kernel in doses small enough to be timed in turn with it: a shared machine's speed changes within
/// seconds, and a limit measured at another time says little.
class LimitProbe {
 public:
  /// `limits` must outlive it and come from measure_limits(), whose way to read memory it takes.
  LimitProbe(const Limits& limits, CpuFeatures kernel_needs, Compute compute, Executor& executor);

  /// Reads `bytes`, which start at a multiple of 64, once, a part on each thread.
  void read(std::span<const std::byte> bytes) const;
  /// Runs at the arithmetic peak for about 0.2 ms on each thread.
  void compute() const;
  double operations() const { return operations_; }  ///< of compute(), all threads
  /// time_in_turn() of once(copy) with compute() and read(bytes(copy)) after each. Without `bytes` nothing is read, and
  /// the bandwidth is the one measured before.
  Result<TimingBesideLimits> time(std::size_t copies, double budget, const Timed& once,
                                  const std::function<std::span<const std::byte>(std::size_t copy)>& bytes) const;
  const std::string& isa() const { return peak_.isa; }  ///< whose peak that is

 private:
  const Limits& limits_;
  const IsaPeak& peak_;
  bool is_f32_;
  Executor& executor_;
  std::uint64_t rounds_ = 1;
  double operations_ = 0;
};

}  // namespace nibblas::bench
