// SPDX-License-Identifier: Apache-2.0
#include "peers/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace nibblas::bench {
namespace {

Status run_form(Peer& peer, const PeerTask& task, std::string_view form, double budget, const Timed& ours,
                const std::function<Result<double>()>& rel_l2, PeerResult& out) {
  if (Status s = peer.prepare(task, form); !s) return s;
  out.variant = peer.variant();
  // What it leaves out must be seen.
  for (std::size_t r = 0; r < task.y.rows; ++r) {
    std::fill_n(task.y.data + r * task.y.stride, task.y.cols, std::numeric_limits<float>::quiet_NaN());
  }
  if (Status s = peer.run(0); !s) return s;
  const Result<double> error = rel_l2();
  if (!error) return error.status();
  if (!(*error <= kWrongRelL2)) {
    return {StatusCode::invalid_data, fmt::format("its result is wrong: relative L2 error {:.3g}", *error)};
  }
  peer.flush_if_needed();
  const Result<std::vector<Timing>> t =
      time_alternately(peer.copies(), budget, {[&](std::size_t copy) { return peer.run(copy); }, ours});
  if (!t) return t.status();
  out.rel_l2 = *error;
  out.seconds = t->front().seconds;
  out.our_seconds = t->back().seconds;
  out.repetitions = t->front().repetitions;
  return {};
}

}  // namespace

PeerResult compare(Peer& peer, const PeerTask& task, Compute compute, double budget, const Timed& ours,
                   const std::function<Result<double>()>& rel_l2) {
  PeerResult best;
  best.peer = peer.name();
  if (const Status s = peer.supports(task.w.dtype, compute); !s) {
    best.why_not = s.message();
    return best;
  }
  std::string first_reason;
  bool found = false;
  for (const std::string& form : peer.forms()) {
    PeerResult r;
    r.peer = peer.name();
    const Status s = run_form(peer, task, form, budget, ours, rel_l2, r);
    peer.release();
    if (!s) {
      if (first_reason.empty()) first_reason = s.message();
    } else if (!found || r.ratio() < best.ratio()) {
      best = std::move(r);
      found = true;
    }
  }
  if (!found) best.why_not = first_reason;
  return best;
}

}  // namespace nibblas::bench
