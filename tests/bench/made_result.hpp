// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "limits/kernels.hpp"
#include "runner.hpp"

namespace nibblas::bench {

/// Limits of one thread that were not measured, with the loops to measure them.
inline Limits made_limits() {
  const LimitIsa* const loops = limit_isas().front();
  Limits l;
  l.dram_gbs = 10;
  l.dram_streams = 1;
  l.reader = loops;
  l.peaks = {{"base", "", "", {}, {}, 1, 2, loops}};
  return l;
}

inline const Kernel kMadeKernel = [] {
  Kernel k;
  k.name = "matmul.q4_0.int8.made";
  return k;
}();

/// A timed case: 200 of 400 GOP/s, 12.5 of 50 GB/s.
inline CaseResult made_result(Outcome outcome, std::string why = {}) {
  CaseResult r;
  r.spec.source = std::make_shared<const WeightSource>(WeightSource{"", DType::q4_0, 1024, 4096, {}});
  r.spec.compute = Compute::int8;
  r.spec.M = 16;
  r.spec.threads = 2;
  r.spec.provider = "made";
  r.spec.kernel = &kMadeKernel;
  r.kernel = kMadeKernel.name;
  r.outcome = outcome;
  r.why = std::move(why);
  r.rel_l2 = 0.0075;
  r.seconds = 0.00125;
  r.repetitions = 11;
  r.speed = {200, 12.5, 400, 50};
  r.limit_isa = "avx2";
  return r;
}

inline PeerResult made_peer(std::string name, double seconds, std::string why_not = {}) {
  PeerResult p;
  p.peer = std::move(name);
  p.variant = "made";
  p.why_not = std::move(why_not);
  p.seconds = seconds;
  p.our_seconds = 0.00125;
  p.repetitions = 7;
  p.rel_l2 = 0.01;
  return p;
}

}  // namespace nibblas::bench
