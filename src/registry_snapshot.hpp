// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nibblas/registry.hpp"

// One immutable state of a registry, and the choice among its kernels. Knows neither threads nor the environment.
// Everything here that allocates may throw std::bad_alloc; registry.cpp turns that into a status.

namespace nibblas {

/// A provider with the answers it gave when it joined.
struct Member {
  const KernelProvider* provider = nullptr;
  bool builtin = false;  ///< may be named as max_isa
  std::string name;
  int priority = 0;
  Availability availability;
  std::span<const Kernel> kernels;
};

/// RegistryConfig, trimmed and taken apart. The views point into the RegistryConfig.
struct ParsedConfig {
  std::string_view force;
  std::string_view max_isa;
  std::vector<std::string_view> disable;

  explicit ParsedConfig(const RegistryConfig& config);
  bool disables(std::string_view name) const noexcept;
};

/// What add() promises to check: ok, or which kernel is malformed and how. `others` are the registry's members.
Status check_provider(const Member& candidate, std::span<const Member> others);

/// A member and what switches it or single kernels of it off, whatever the request.
struct Entry {
  Member member;
  std::string off;                      ///< reason; empty when the provider may be used
  std::vector<std::string> kernel_off;  ///< by kernel
  bool forced = false;
};

struct SnapshotInput {
  std::span<const Member> members;
  const CpuInfo& cpu;
  const ParsedConfig& config;
  /// Names in config.disable whose owner was removed since: no longer here, yet not unknown.
  std::span<const std::string> gone;
  /// Reported as config_status() before anything that the config itself may cause.
  const Status& problem;
};

class Snapshot {
 public:
  explicit Snapshot(const SnapshotInput& input);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const Status& config_status() const noexcept { return config_status_; }
  /// Highest priority first; equal ones in the order in which they joined.
  std::span<const Entry> entries() const noexcept { return entries_; }
  const Entry* find(std::string_view name) const noexcept;

  /// O(1) for a request of nothing but a key, on rows as in the file or on panels; else linear in the kernels.
  const Kernel* select(const KernelRequest& request) const noexcept;
  Resolution resolve(const KernelRequest& request) const;

 private:
  struct Choice {
    const Entry* entry = nullptr;
    const Kernel* kernel = nullptr;
  };

  Choice choose(const KernelRequest& request) const noexcept;
  Candidate judge(const Entry& entry, const Kernel* kernel, const KernelRequest& request, const Choice& choice) const;
  std::string outranked(const Entry& entry, const Kernel& kernel, const Choice& choice) const;
  std::string won(const KernelRequest& request, const Choice& choice) const;
  Status failure(const KernelRequest& request, std::span<const Candidate> trail) const;
  void fill_table() noexcept;

  std::vector<Entry> entries_;
  const Entry* floor_ = nullptr;  ///< scalar, when another provider is forced
  Status config_status_;
  const Kernel* table_[2][kOpCount][kDTypeCount][kComputeCount] = {};  ///< [on panels][op][weights][compute]
};

/// Fills `off`, `kernel_off` and `forced`; ok, or the unknown or unusable value of the config.
Status apply_config(std::span<Entry> entries, const SnapshotInput& input);

/// Names of the entries that `pick` accepts, or "(none)".
template <class Pick>
std::string names_of(std::span<const Entry> entries, Pick pick) {
  std::string list;
  for (const Entry& e : entries) {
    if (pick(e)) {
      list.append(list.empty() ? "" : ", ").append(e.member.name);
    }
  }
  return list.empty() ? "(none)" : list;
}

/// A resolution for people.
std::string to_text(const KernelRequest& request, const Resolution& resolution);

}  // namespace nibblas
