// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ascii.hpp"
#include "registry_snapshot.hpp"
#include "status_message.hpp"

namespace nibblas {

namespace {

/// A name must be writable in NIBBLAS_DISABLE, and lists of names fit for a message.
bool is_name(std::string_view name) noexcept {
  constexpr std::size_t longest = 64;
  return !name.empty() && name.size() <= longest &&
         std::ranges::none_of(name, [](char c) { return c == ',' || c == ' ' || ascii_control(c); });
}
constexpr std::string_view kNoName = "is empty, holds a comma, a space or a control character, or exceeds 64 bytes";

/// Far more than any sum in flight, and no state of any tile plan overflows with it.
constexpr std::size_t kMostStateFloats = 1024;

std::string tiled_fault(const Kernel& k) {
  const TiledKernel& t = k.tiled;
  for (const auto& [missing, what] : {std::pair{t.prepare == nullptr, "prepare"}, std::pair{t.pack == nullptr, "pack"},
                                      std::pair{t.tile == nullptr, "tile"}}) {
    if (missing) {
      return text("tiled.", what, " is null");
    }
  }
  const std::size_t block = panel_layout(k.key.weights).block_elems;
  if (t.k_step == 0 || t.k_step % block != 0) {
    return text("tiled.k_step ", std::to_string(t.k_step), " is no multiple of the layout's block of ",
                std::to_string(block));
  }
  if (t.state_floats == 0 || t.state_floats > kMostStateFloats) {
    return text("tiled.state_floats is ", std::to_string(t.state_floats), ", not in 1..",
                std::to_string(kMostStateFloats));
  }
  if (t.streams == 0 || t.streams > kMaxTilePanels) {
    return text("tiled.streams ", std::to_string(t.streams), " is not in 1..", std::to_string(kMaxTilePanels));
  }
  if (t.streams_of_one > kMaxTilePanels) {
    return text("tiled.streams_of_one ", std::to_string(t.streams_of_one), " is above ",
                std::to_string(kMaxTilePanels));
  }
  return {};
}

std::string whole_fault(const WholeKernel& w) {
  if (w.run == nullptr) {
    return "whole.run is null";
  }
  if ((w.packed_bytes == nullptr) != (w.pack == nullptr)) {
    return "whole.pack and whole.packed_bytes go together";
  }
  if (w.pack != nullptr && w.layout_id < kFirstForeignLayout) {
    return text("whole.layout_id ", std::to_string(w.layout_id), " is below ", std::to_string(kFirstForeignLayout));
  }
  if (w.pack == nullptr && w.layout_id != 0) {
    return text("whole.layout_id ", std::to_string(w.layout_id), " without whole.pack");
  }
  return {};
}

std::string kernel_fault(const Kernel& k) {
  const bool op_ok = static_cast<std::size_t>(k.key.op) < kOpCount;
  if (!op_ok || !is_legal(k.key.weights, k.key.compute)) {
    return text("illegal key: ", op_ok ? to_string(k.key.op) : "unknown op", ", format ", text_of(k.key.weights),
                ", compute ", text_of(k.key.compute));
  }
  if (k.results != Results::canonical && k.results != Results::tolerance) {
    return "results is neither canonical nor tolerance";
  }
  const TiledKernel& t = k.tiled;
  const WholeKernel& w = k.whole;
  const bool tiled = t.prepare != nullptr || t.pack != nullptr || t.tile != nullptr;
  const bool whole = w.run != nullptr || w.packed_bytes != nullptr || w.pack != nullptr;
  if (tiled == whole) {
    return tiled ? "both tiled and whole" : "neither tiled nor whole";
  }
  return tiled ? tiled_fault(k) : whole_fault(w);
}

bool has_kernel_named(std::span<const Kernel> kernels, std::string_view name) noexcept {
  return std::ranges::any_of(kernels, [name](const Kernel& k) { return ascii_iequals(k.name, name); });
}

/// Looks at kernel i of m; the kernels before it are known to be sound.
std::string name_fault(const Member& m, std::size_t i, std::span<const Member> others) {
  const char* name = m.kernels[i].name;
  if (name == nullptr || !is_name(name)) {
    return text("its name ", kNoName);
  }
  if (has_kernel_named(m.kernels.first(i), name)) {
    return "its name is used twice";
  }
  for (const Member& other : others) {
    if (has_kernel_named(other.kernels, name)) {
      return text("its name is taken by provider '", other.name, "'");
    }
  }
  return {};
}

}  // namespace

Status check_provider(const Member& candidate, std::span<const Member> others) {
  if (!is_name(candidate.name)) {
    return {StatusCode::invalid_argument, text("provider name '", shown(candidate.name), "' ", kNoName)};
  }
  for (const Member& other : others) {
    if (ascii_iequals(other.name, candidate.name)) {
      return {StatusCode::invalid_argument,
              text("provider '", candidate.name, "': another one has the name '", other.name, "'")};
    }
  }
  for (std::size_t i = 0; i < candidate.kernels.size(); ++i) {
    const Kernel& k = candidate.kernels[i];
    std::string fault = name_fault(candidate, i, others);
    if (fault.empty()) {
      fault = kernel_fault(k);
    }
    if (!fault.empty()) {
      return {StatusCode::invalid_argument, text("provider '", candidate.name, "', kernel ", std::to_string(i), " '",
                                                 shown(k.name == nullptr ? "" : k.name), "': ", fault)};
    }
  }
  return {};
}

}  // namespace nibblas
