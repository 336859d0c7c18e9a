// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nibblas/cpu.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/status.hpp"

namespace nibblas::bench {

struct LimitIsa;

/// The arithmetic peak of one ISA; an operation is one multiplication or one addition.
struct IsaPeak {
  std::string isa;
  std::string f32_how;
  std::string int8_how;
  CpuFeatures needs;
  CpuFeatures f32_needs;  ///< of them, those of the f32 peak
  double f32_gops = 0;
  double int8_gops = 0;
  const LimitIsa* loops = nullptr;
};

/// What the machine can do with a number of threads.
struct Limits {
  std::size_t threads = 1;
  double dram_gbs = 0;            ///< 1e9 bytes a second, read
  std::size_t dram_streams = 0;   ///< of the best way to read
  std::size_t dram_prefetch = 0;  ///< bytes ahead; 0 = none
  const LimitIsa* reader = nullptr;
  std::vector<IsaPeak> peaks;  ///< usable ones, from baseline to best
};

/// Measures; takes one or two seconds a thread count. Errors: out_of_memory.
Result<std::vector<Limits>> measure_limits(const CpuInfo& cpu, const std::vector<std::size_t>& thread_counts);

/// The peak that bounds a kernel which needs `kernel_needs`: the best ISA that it could use.
const IsaPeak& peak_for(const Limits& limits, CpuFeatures kernel_needs, Compute compute) noexcept;
double limit_gops(const Limits& limits, CpuFeatures kernel_needs, Compute compute) noexcept;

}  // namespace nibblas::bench
