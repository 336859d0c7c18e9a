// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nibblas/cpu.hpp"

namespace nibblas::bench {

/// Where a measurement was taken.
struct Machine {
  CpuInfo cpu;
  std::string system;             ///< "Linux 6.1.0"
  std::string compiler;           ///< of this program
  std::vector<std::size_t> cpus;  ///< this process may run on; empty when unknown
  std::size_t threads = 1;        ///< default_thread_count()
};

Machine this_machine();

/// "0-3,8" for 0, 1, 2, 3, 8.
std::string ranges(const std::vector<std::size_t>& ascending);

}  // namespace nibblas::bench
