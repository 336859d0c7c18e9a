// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "peers/peer.hpp"
#include "timing.hpp"

namespace nibblas::bench {

/// Results further off than this are not those of the same product, and their time says nothing.
inline constexpr double kWrongRelL2 = 0.1;

struct PeerResult {
  std::string peer;
  std::string variant;
  std::string why_not;     ///< it was not timed; empty when it was
  double seconds = 0;      ///< median
  double our_seconds = 0;  ///< of our own product, timed in turn with it
  std::size_t repetitions = 0;
  double rel_l2 = 0;

  bool timed() const { return why_not.empty(); }
  /// Its time over ours: above 1, we are faster. 0 when it was not timed.
  double ratio() const { return timed() && our_seconds > 0 ? seconds / our_seconds : 0; }
};

/// Runs the task in every form of the peer, in turn with our own product (ours(i), for any i), and keeps the form that
/// is fastest beside ours. `rel_l2` gives the error of what now lies in task.y. Never fails: what goes wrong is the
/// result's why_not.
PeerResult compare(Peer& peer, const PeerTask& task, Compute compute, double budget, const Timed& ours,
                   const std::function<Result<double>()>& rel_l2);

}  // namespace nibblas::bench
