// SPDX-License-Identifier: Apache-2.0
#include "registry_snapshot.hpp"

#include <algorithm>

#include "ascii.hpp"
#include "status_message.hpp"

namespace nibblas {

namespace {

/// Weights as they lie decide who can read them.
bool reads_layout(const Kernel& k, std::uint32_t layout_id) noexcept {
  if (layout_id == 0) {
    return true;
  }
  return k.is_tiled() ? layout_id == panel_layout(k.key.weights).id : layout_id == k.whole.layout_id;
}

bool names(const KernelRequest& request, const Entry& entry) noexcept {
  return !request.provider.empty() && ascii_iequals(request.provider, entry.member.name);
}

bool may_use(const Entry& entry, const KernelRequest& request) noexcept {
  return entry.off.empty() && (request.provider.empty() || names(request, entry));
}

bool tolerates(const Entry& entry, const KernelRequest& request) noexcept {
  return request.allow_tolerance || entry.forced || names(request, entry);
}

/// The provider's own best: an exact op before a matmul that also serves gemv, then the order of its list.
const Kernel* best_of(const Entry& entry, const KernelRequest& request) noexcept {
  const Kernel* best = nullptr;
  for (std::size_t i = 0; i < entry.member.kernels.size(); ++i) {
    const Kernel& k = entry.member.kernels[i];
    if (!k.serves(request.key) || !entry.kernel_off[i].empty() || !reads_layout(k, request.layout_id) ||
        (request.tiled_only && !k.is_tiled()) || !k.needs.includes(request.require) ||
        (k.results == Results::tolerance && !tolerates(entry, request))) {
      continue;
    }
    if (k.key.op == request.key.op) {
      return &k;
    }
    best = best != nullptr ? best : &k;
  }
  return best;
}

bool is_valid_key(const KernelKey& key) noexcept {
  return static_cast<std::size_t>(key.op) < kOpCount && is_legal(key.weights, key.compute);
}

std::string key_text(const KernelKey& key) {
  return text(to_string(key.op), " ", to_string(key.weights), " ", to_string(key.compute));
}

Status check_key(const KernelKey& key) {
  if (static_cast<std::size_t>(key.op) >= kOpCount) {
    return {StatusCode::unsupported, text("unknown op ", std::to_string(static_cast<unsigned>(key.op)))};
  }
  if (!is_valid(key.weights)) {
    return {StatusCode::unsupported, text("unknown format ", std::to_string(static_cast<unsigned>(key.weights)))};
  }
  if (is_legal(key.weights, key.compute)) {
    return {};
  }
  std::string legal;
  for (std::size_t c = 0; c < kComputeCount; ++c) {
    if (info(key.weights).legal[c]) {
      append_item(legal, to_string(static_cast<Compute>(c)));
    }
  }
  return {StatusCode::unsupported,
          text("format ", to_string(key.weights), " has no compute ", text_of(key.compute), "; legal: ", legal)};
}

std::string wrong_layout(const Kernel& k, std::uint32_t layout_id) {
  return text(k.is_tiled() ? "reads panels of layout " + std::to_string(panel_layout(k.key.weights).id)
                           : "reads rows as in the file",
              ", the weights are packed in layout ", std::to_string(layout_id));
}

std::string no_kernel(const Entry& entry, const KernelKey& key) {
  const bool gemv_only = std::ranges::any_of(entry.member.kernels, [&key](const Kernel& k) {
    return k.key.weights == key.weights && k.key.compute == key.compute;
  });
  return text(gemv_only ? "no matmul kernel for " : "no kernel for ", to_string(key.weights), " ",
              to_string(key.compute));
}

}  // namespace

Snapshot::Snapshot(const SnapshotInput& input) {
  for (const Member& m : input.members) {
    entries_.push_back({m, {}, {}, false});
  }
  std::ranges::stable_sort(entries_,
                           [](const Entry& a, const Entry& b) { return a.member.priority > b.member.priority; });
  config_status_ = apply_config(entries_, input);
  if (!input.problem.ok()) {
    config_status_ = input.problem;
  }
  if (!input.config.force.empty()) {
    floor_ = find("scalar");
    if (floor_ != nullptr && floor_->forced) {
      floor_ = nullptr;
    }
  }
  fill_table();
}

void Snapshot::fill_table() noexcept {
  for (const bool panels : {false, true}) {
    for (std::size_t op = 0; op < kOpCount; ++op) {
      for (const DTypeInfo& type : kDTypes) {
        for (std::size_t c = 0; c < kComputeCount; ++c) {
          const KernelRequest request{.key = {static_cast<Op>(op), type.dtype, static_cast<Compute>(c)},
                                      .layout_id = panels ? panel_layout(type.dtype).id : 0};
          table_[panels][op][static_cast<std::size_t>(type.dtype)][c] = choose(request).kernel;
        }
      }
    }
  }
}

const Entry* Snapshot::find(std::string_view name) const noexcept {
  const auto it = std::ranges::find_if(entries_, [name](const Entry& e) { return ascii_iequals(e.member.name, name); });
  return it == entries_.end() ? nullptr : &*it;
}

Snapshot::Choice Snapshot::choose(const KernelRequest& request) const noexcept {
  if (!config_status_.ok() || !is_valid_key(request.key)) {
    return {};
  }
  for (const Entry& entry : entries_) {
    if (&entry == floor_ || !may_use(entry, request)) {
      continue;
    }
    if (const Kernel* k = best_of(entry, request)) {
      return {&entry, k};
    }
  }
  if (floor_ != nullptr && may_use(*floor_, request)) {
    if (const Kernel* k = best_of(*floor_, request)) {
      return {floor_, k};
    }
  }
  return {};
}

const Kernel* Snapshot::select(const KernelRequest& request) const noexcept {
  if (!is_valid_key(request.key)) {
    return nullptr;
  }
  const bool panels = request.layout_id == panel_layout(request.key.weights).id;
  const bool plain = request.provider.empty() && !request.allow_tolerance && request.require == CpuFeatures{};
  if (plain && (panels || request.layout_id == 0)) {
    // Kernels that read panels are the tiled ones.
    return table_[panels || request.tiled_only][static_cast<std::size_t>(request.key.op)]
                 [static_cast<std::size_t>(request.key.weights)][static_cast<std::size_t>(request.key.compute)];
  }
  return choose(request).kernel;
}

std::string Snapshot::outranked(const Entry& entry, const Kernel& kernel, const Choice& choice) const {
  const Member& winner = choice.entry->member;
  if (choice.entry == &entry) {
    return choice.kernel->key.op != kernel.key.op ? text(choice.kernel->name, " is made for the op")
                                                  : text("listed after ", choice.kernel->name);
  }
  if (&entry == floor_) {
    return text("only the floor below the forced ", winner.name);
  }
  return entry.member.priority < winner.priority ? text("lower priority than ", winner.name)
                                                 : text("same priority as ", winner.name, ", which was added first");
}

std::string Snapshot::won(const KernelRequest& request, const Choice& choice) const {
  std::string why = choice.entry == &entries_.front() ? "highest priority" : "highest priority of those that can";
  if (choice.entry == floor_ && request.provider.empty()) {
    why = "the floor: the provider forced by NIBBLAS_PROVIDER cannot serve this";
  } else if (!request.provider.empty()) {
    why = "named in the request";
  } else if (choice.entry->forced) {
    why = "forced by NIBBLAS_PROVIDER";
  }
  if (choice.kernel->results != Results::tolerance) return why;
  return why + (request.allow_tolerance ? "; results are tolerance, opted in" : "; results are tolerance");
}

/// `kernel` is null for a provider that has none for the key.
Candidate Snapshot::judge(const Entry& entry, const Kernel* kernel, const KernelRequest& request,
                          const Choice& choice) const {
  Candidate c{entry.member.name, kernel != nullptr ? kernel->name : "", entry.member.priority, false, {}};
  if (kernel != nullptr && kernel == choice.kernel) {
    c.chosen = true;
    c.reason = won(request, choice);
    return c;
  }
  const std::string* off =
      kernel != nullptr ? &entry.kernel_off[static_cast<std::size_t>(kernel - entry.member.kernels.data())] : nullptr;
  if (!entry.off.empty()) {
    c.reason = entry.off;
  } else if (!may_use(entry, request)) {
    c.reason = "not the provider named in the request";
  } else if (kernel == nullptr) {
    c.reason = no_kernel(entry, request.key);
  } else if (!off->empty()) {
    c.reason = *off;
  } else if (kernel->results == Results::tolerance && !tolerates(entry, request)) {
    c.reason = "results are tolerance; not opted in";
  } else if (!reads_layout(*kernel, request.layout_id)) {
    c.reason = wrong_layout(*kernel, request.layout_id);
  } else if (request.tiled_only && !kernel->is_tiled()) {
    c.reason = "reads rows of X, the activations are prepared";
  } else if (!kernel->needs.includes(request.require)) {
    c.reason = text("does not use the required ", to_string(kernel->needs.missing(request.require)));
  } else {
    c.reason = choice.entry == nullptr ? "the configuration is in error" : outranked(entry, *kernel, choice);
  }
  return c;
}

Status Snapshot::failure(const KernelRequest& request, std::span<const Candidate> trail) const {
  const Entry* named = find(request.provider);
  if (!request.provider.empty() && named == nullptr) {
    return {StatusCode::not_found, text("no provider '", shown(request.provider),
                                        "'; valid: ", names_of(entries_, [](const Entry&) { return true; }))};
  }
  if (named != nullptr && !named->off.empty()) {
    return {StatusCode::unsupported, text("provider '", named->member.name, "' cannot be used: ", named->off)};
  }
  std::string reasons;
  for (const Candidate& c : trail) {
    if (named == nullptr || c.provider == named->member.name) {
      append_item(reasons, text(c.provider, ": ", c.reason));
    }
  }
  return {StatusCode::unsupported, text("no kernel may serve ", key_text(request.key), " (",
                                        reasons.empty() ? "the registry is empty" : reasons, ")")};
}

Resolution Snapshot::resolve(const KernelRequest& request) const {
  Resolution r;
  if (Status s = check_key(request.key); !s.ok()) {
    r.status = std::move(s);
    return r;
  }
  const Choice choice = choose(request);
  for (const Entry& entry : entries_) {
    bool any = false;
    for (const Kernel& k : entry.member.kernels) {
      if (k.serves(request.key)) {
        r.trail.push_back(judge(entry, &k, request, choice));
        any = true;
      }
    }
    if (!any) {
      r.trail.push_back(judge(entry, nullptr, request, choice));
    }
  }
  if (choice.kernel != nullptr) {
    r.kernel = choice.kernel;
    r.provider = choice.entry->member.name;
  } else {
    r.status = config_status_.ok() ? failure(request, r.trail) : config_status_;
  }
  return r;
}

std::string to_text(const KernelRequest& request, const Resolution& resolution) {
  const bool op_ok = static_cast<std::size_t>(request.key.op) < kOpCount;
  std::string out = text(op_ok ? to_string(request.key.op) : "unknown op", " ", text_of(request.key.weights), " ",
                         text_of(request.key.compute));
  if (request.layout_id != 0) {
    out += text(", packed weights of layout ", std::to_string(request.layout_id));
  }
  if (!request.provider.empty()) {
    out += text(", provider ", shown(request.provider));
  }
  if (request.allow_tolerance) {
    out += ", tolerance allowed";
  }
  if (request.tiled_only) {
    out += ", X prepared";
  }
  if (request.require != CpuFeatures{}) {
    out += text(", required ", to_string(request.require));
  }
  out += resolution.kernel != nullptr ? text(" -> ", resolution.kernel->name, "\n")
                                      : text(" -> error: ", resolution.status.message(), "\n");
  for (const Candidate& c : resolution.trail) {
    out += text(c.chosen ? "  * " : "    ", c.provider, " (priority ", std::to_string(c.priority), ") ",
                c.kernel.empty() ? "-" : c.kernel, ": ", c.reason, "\n");
  }
  return out;
}

}  // namespace nibblas
