// SPDX-License-Identifier: Apache-2.0
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "metrics.hpp"

namespace nibblas::bench {

Result<std::vector<Timing>> time_alternately(std::size_t copies, double budget, const std::vector<Timed>& ways) {
  using Clock = std::chrono::steady_clock;
  std::size_t copy = 0;
  std::vector<std::vector<double>> times(ways.size());
  const auto round = [&]() -> Status {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      copy = (copy + 1) % copies;
      const Clock::time_point start = Clock::now();
      Status s = ways[i](copy);
      times[i].push_back(std::chrono::duration<double>(Clock::now() - start).count());
      if (!s) return s;
    }
    return {};
  };
  if (Status s = round(); !s) return s;
  double slowest = 0;
  for (std::vector<double>& t : times) {
    slowest = std::max(slowest, t.front());
    t.clear();
  }
  // All ways together make at most one pass through kMaxRepetitions copies.
  const std::size_t rounds =
      std::min(repetitions(slowest, budget), std::max<std::size_t>(kMaxRepetitions / ways.size(), 1));
  for (std::size_t r = 0; r < rounds; ++r) {
    if (Status s = round(); !s) return s;
  }
  std::vector<Timing> out;
  for (std::vector<double>& t : times) out.push_back({median(std::move(t)), rounds});
  return out;
}

Result<Timing> time_in_turn(std::size_t copies, double budget, const Timed& once) {
  const Result<std::vector<Timing>> t = time_alternately(copies, budget, {once});
  if (!t) return t.status();
  return t->front();
}

}  // namespace nibblas::bench
