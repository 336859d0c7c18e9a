// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "nibblas/status.hpp"

namespace nibblas::bench {

struct Timing {
  double seconds = 0;  ///< median
  std::size_t repetitions = 0;
};

/// Times once(copy) with the copies in turn, for about `budget` seconds; a first run, which tells how long it takes,
/// does not count. Ours, peers and baseline are all timed by this.
Result<Timing> time_in_turn(std::size_t copies, double budget, const std::function<Status(std::size_t)>& once);

}  // namespace nibblas::bench
