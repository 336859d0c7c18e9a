// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nibblas {

/// Whole CPUs of a cgroup v2 cpu.max, "<quota> <period>", at least 1; nullopt when unlimited or malformed.
std::optional<std::size_t> parse_cpu_max(std::string_view text) noexcept;

/// The same from v1's cpu.cfs_quota_us (-1: unlimited) and cpu.cfs_period_us.
std::optional<std::size_t> parse_cfs_quota(std::string_view quota, std::string_view period) noexcept;

/// The smallest quota from this process's cgroup up to the root of each mounted hierarchy that limits CPUs, in whole
/// CPUs, at least 1; nullopt when there is none. `root` goes before every path: "" is the machine, a directory with a
/// proc/ and a sys/ is a test. What is missing or malformed is ignored.
std::optional<std::size_t> cgroup_cpu_limit(const std::string& root);

}  // namespace nibblas
