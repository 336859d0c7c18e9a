// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "nibblas/status.hpp"

namespace nibblas::bench {

struct Timing {
  double seconds = 0;  ///< median
  std::size_t repetitions = 0;
};

/// Times once(copy) with the copies in turn, for about `budget` seconds; a first run, which tells how long it takes,
/// does not count. Ours, peers and baseline are all timed by this.
using Timed = std::function<Status(std::size_t copy)>;
Result<Timing> time_in_turn(std::size_t copies, double budget, const Timed& once);
/// The same for several ways, one after the other in every round, so that what slows the machine down for a while slows
/// all of them. The budget is that of the slowest.
Result<std::vector<Timing>> time_alternately(std::size_t copies, double budget, const std::vector<Timed>& ways);

}  // namespace nibblas::bench
