// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "ascii.hpp"
#include "cpu_detect.hpp"
#include "registry_snapshot.hpp"

namespace nibblas {

namespace {

constexpr std::string_view kNotHere = "not available here";

/// The instruction-set levels that the built-in provider NIBBLAS_MAX_ISA names is made of.
std::optional<CpuFeatures> feature_cap(std::span<const Entry> entries, std::string_view max_isa) noexcept {
  for (const Entry& e : entries) {
    if (e.member.builtin && ascii_iequals(e.member.name, max_isa)) {
      CpuFeatures used;
      for (const Kernel& k : e.member.kernels) {
        used.bits |= k.needs.bits;
      }
      return whole_levels(used);
    }
  }
  return std::nullopt;
}

/// Empty for a kernel that stays.
std::string above_cap(const Kernel& k, const ParsedConfig& config, std::optional<CpuFeatures> cap) {
  const CpuFeatures above = cap ? cap->missing(k.needs) : CpuFeatures{};
  return above == CpuFeatures{} ? std::string()
                                : text("needs ", to_string(above), ", above NIBBLAS_MAX_ISA=", config.max_isa);
}

/// A provider none of whose kernels stays is off as a whole.
std::string provider_above_cap(const Member& m, const ParsedConfig& config, std::optional<CpuFeatures> cap) {
  std::string why;
  for (const Kernel& k : m.kernels) {
    std::string above = above_cap(k, config, cap);
    if (above.empty()) {
      return {};
    }
    if (why.empty()) {
      why = std::move(above);
    }
  }
  return why;
}

std::string provider_off(const Member& m, const ParsedConfig& config, std::optional<CpuFeatures> cap) {
  if (!m.availability.usable) {
    constexpr std::size_t most = 256;
    return m.availability.reason.empty() ? std::string(kNotHere) : shown(m.availability.reason, most);
  }
  if (config.disables(m.name)) {
    return "disabled by NIBBLAS_DISABLE";
  }
  return provider_above_cap(m, config, cap);
}

std::string kernel_off(const Kernel& k, const ParsedConfig& config, std::optional<CpuFeatures> cap,
                       const CpuInfo& cpu) {
  if (config.disables(k.name)) {
    return text(k.name, " disabled by NIBBLAS_DISABLE");
  }
  std::string missing = why_missing(cpu, k.needs);
  return missing.empty() ? above_cap(k, config, cap) : missing;
}

bool owns(const Entry& e, std::string_view name) noexcept {
  return ascii_iequals(e.member.name, name) ||
         std::ranges::any_of(e.member.kernels, [name](const Kernel& k) { return ascii_iequals(k.name, name); });
}

Status check_force(std::span<const Entry> entries, std::string_view force) {
  const auto it = std::ranges::find_if(entries, [](const Entry& e) { return e.forced; });
  const bool known = it != entries.end();
  if (known && it->off.empty()) {
    return {};
  }
  const std::string valid = names_of(entries, [](const Entry& e) { return e.off.empty(); });
  return {known ? StatusCode::unsupported : StatusCode::invalid_argument,
          text("NIBBLAS_PROVIDER=", shown(force), ": ", known ? std::string_view(it->off) : "no such provider",
               "; valid: ", valid)};
}

Status check_disable(std::span<const Entry> entries, const SnapshotInput& input) {
  constexpr std::size_t most = 4;
  std::string unknown;
  std::size_t count = 0;
  for (const std::string_view name : input.config.disable) {
    const bool known = std::ranges::any_of(entries, [name](const Entry& e) { return owns(e, name); }) ||
                       std::ranges::any_of(input.gone, [name](const std::string& g) { return ascii_iequals(g, name); });
    if (!known && ++count <= most) {
      append_item(unknown, shown(name));
    }
  }
  if (count == 0) {
    return {};
  }
  if (count > most) {
    unknown += text(" and ", std::to_string(count - most), " more");
  }
  return {StatusCode::invalid_argument,
          text("NIBBLAS_DISABLE=", unknown,
               ": no provider or kernel has that name; valid: ", names_of(entries, [](const Entry&) { return true; }),
               ", or one of their kernels, as explain() names them")};
}

}  // namespace

ParsedConfig::ParsedConfig(const RegistryConfig& config)
    : force(ascii_trim(config.force_provider)), max_isa(ascii_trim(config.max_isa)) {
  for (std::string_view rest = config.disable; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = ascii_trim(rest.substr(0, comma));
    if (!item.empty()) {
      disable.push_back(item);
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
}

bool ParsedConfig::disables(std::string_view name) const noexcept {
  return std::ranges::any_of(disable, [name](std::string_view d) { return ascii_iequals(d, name); });
}

Status apply_config(std::span<Entry> entries, const SnapshotInput& input) {
  const ParsedConfig& config = input.config;
  const std::optional<CpuFeatures> cap = feature_cap(entries, config.max_isa);
  for (Entry& e : entries) {
    e.off = provider_off(e.member, config, cap);
    e.forced = !config.force.empty() && ascii_iequals(e.member.name, config.force);
    for (const Kernel& k : e.member.kernels) {
      e.kernel_off.push_back(kernel_off(k, config, cap, input.cpu));
    }
  }
  if (!config.max_isa.empty() && !cap) {
    return {StatusCode::invalid_argument,
            text("NIBBLAS_MAX_ISA=", shown(config.max_isa), ": no built-in provider has that name; valid: ",
                 names_of(entries, [](const Entry& e) { return e.member.builtin; }))};
  }
  if (Status s = check_disable(entries, input); !s.ok()) {
    return s;
  }
  if (config.force.empty()) {
    return {};
  }
  if (Status s = check_force(entries, config.force); !s.ok()) {
    return s;
  }
  for (Entry& e : entries) {
    if (e.off.empty() && !e.forced && !ascii_iequals(e.member.name, "scalar")) {
      e.off = text("NIBBLAS_PROVIDER=", config.force, " forces another");
    }
  }
  return {};
}

}  // namespace nibblas
