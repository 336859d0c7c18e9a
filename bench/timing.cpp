// SPDX-License-Identifier: Apache-2.0
#include "timing.hpp"

#include <chrono>
#include <vector>

#include "metrics.hpp"

namespace nibblas::bench {

Result<Timing> time_in_turn(std::size_t copies, double budget, const std::function<Status(std::size_t)>& once) {
  using Clock = std::chrono::steady_clock;
  std::size_t copy = 0;
  const auto timed = [&](double& seconds) {
    copy = (copy + 1) % copies;
    const Clock::time_point start = Clock::now();
    Status s = once(copy);
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return s;
  };
  double estimate = 0;
  if (Status s = timed(estimate); !s) return s;
  std::vector<double> times(repetitions(estimate, budget));
  for (double& t : times) {
    if (Status s = timed(t); !s) return s;
  }
  const std::size_t n = times.size();
  return Timing{median(std::move(times)), n};
}

}  // namespace nibblas::bench
