// SPDX-License-Identifier: Apache-2.0
#include "thread_count.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "nibblas/executor.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace nibblas {
namespace {

std::string_view trim(std::string_view s) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = s.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

std::optional<std::uint64_t> parse_number(std::string_view s) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return value;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Is `name` an element of the comma-separated `list`?
bool lists(std::string_view list, std::string_view name) noexcept {
  while (true) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

/// A mounted cgroup hierarchy that can limit CPUs.
struct Hierarchy {
  bool v2 = false;
  std::string top;    ///< the cgroup that is mounted
  std::string mount;  ///< where
};

/// From /proc/self/mountinfo: id, parent, device, root, mount point, options, tags..., "-", type, source, options.
std::vector<Hierarchy> cpu_hierarchies(const std::string& mountinfo) {
  std::vector<Hierarchy> found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool v2 = dash[1] == "cgroup2";
    if (v2 || (dash[1] == "cgroup" && lists(dash[3], "cpu"))) found.push_back({v2, fields[3], fields[4]});
  }
  return found;
}

/// This process's cgroup in the hierarchy, from /proc/self/cgroup: "<id>:<controllers>:<path>", v2 without controllers.
std::string own_cgroup(const std::string& proc_cgroup, bool v2) {
  std::istringstream lines(proc_cgroup);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

/// `path` below the mounted cgroup, "" or "/a/b". A path that the mount does not show (a container that sees the host's
/// path, or one outside of its namespace) counts as the mount's own top.
std::string below(const std::string& path, const std::string& top) {
  const std::string prefix = top == "/" ? "" : top;
  if (path.compare(0, prefix.size(), prefix) != 0 || path.find("..") != std::string::npos) return {};
  const std::string rest = path.substr(prefix.size());
  return rest.size() > 1 && rest.front() == '/' ? rest : std::string();
}

std::optional<std::size_t> quota_of(const std::string& dir, bool v2) {
  if (v2) {
    const auto max = read_file(dir + "/cpu.max");
    return max ? parse_cpu_max(*max) : std::nullopt;
  }
  const auto quota = read_file(dir + "/cpu.cfs_quota_us");
  const auto period = read_file(dir + "/cpu.cfs_period_us");
  return quota && period ? parse_cfs_quota(*quota, *period) : std::nullopt;
}

/// CPUs in the calling thread's affinity mask; its workers inherit it.
std::size_t affinity_count() noexcept {
#if defined(__linux__)
  // The kernel refuses a mask shorter than its own, which may be longer than cpu_set_t.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<std::size_t>(count);
  }
#endif
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace

std::optional<std::size_t> parse_cfs_quota(std::string_view quota, std::string_view period) noexcept {
  const auto q = parse_number(trim(quota));
  const auto p = parse_number(trim(period));
  if (!q || !p || *q == 0 || *p == 0) return std::nullopt;
  return std::max<std::size_t>(1, *q / *p);
}

std::optional<std::size_t> parse_cpu_max(std::string_view text) noexcept {
  const std::string_view line = trim(text);
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return parse_cfs_quota(line.substr(0, blank), line.substr(blank + 1));
}

std::optional<std::size_t> cgroup_cpu_limit(const std::string& root) {
  std::optional<std::size_t> limit;
  const auto mountinfo = read_file(root + "/proc/self/mountinfo");
  const auto cgroup = read_file(root + "/proc/self/cgroup");
  if (!mountinfo || !cgroup) return limit;
  for (const Hierarchy& h : cpu_hierarchies(*mountinfo)) {
    std::string path = below(own_cgroup(*cgroup, h.v2), h.top);
    while (true) {
      const auto quota = quota_of(root + h.mount + path, h.v2);
      if (quota) limit = std::min(limit.value_or(*quota), *quota);
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return limit;
}

std::size_t default_thread_count() noexcept {
  const std::size_t cpus = affinity_count();
#if defined(__linux__)
  try {
    return std::min(cpus, cgroup_cpu_limit({}).value_or(cpus));
  } catch (const std::exception&) {
    // No memory to read the quota with: the affinity alone is a good answer.
  }
#endif
  return cpus;
}

}  // namespace nibblas
