// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include "nibblas/executor.hpp"

namespace nibblas::bench {
namespace {

std::vector<std::size_t> affinity() {
  std::vector<std::size_t> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  }
  return cpus;
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

Machine this_machine() {
  Machine m;
  m.cpu = host_cpu();
  utsname names{};
  if (uname(&names) == 0) m.system = fmt::format("{} {}", names.sysname, names.release);
  m.compiler = compiler_name();
  m.cpus = affinity();
  m.threads = default_thread_count();
  return m;
}

std::string ranges(const std::vector<std::size_t>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t j = i;
    while (j + 1 < ascending.size() && ascending[j + 1] == ascending[j] + 1) ++j;
    text += text.empty() ? "" : ",";
    text += i == j ? fmt::format("{}", ascending[i]) : fmt::format("{}-{}", ascending[i], ascending[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace nibblas::bench
