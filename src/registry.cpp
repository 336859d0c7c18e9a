// SPDX-License-Identifier: Apache-2.0
#include "nibblas/registry.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>

#include "ascii.hpp"
#include "builtin_providers.hpp"
#include "immortal.hpp"
#include "registry_snapshot.hpp"

namespace nibblas {

namespace {

Status out_of_memory() noexcept { return {StatusCode::out_of_memory, {}}; }

/// add() asks code from outside, which may throw anything.
Status provider_threw(const KernelProvider& provider, std::string_view what) noexcept try {
  constexpr std::size_t most = 256;
  return {StatusCode::invalid_argument,
          text("provider '", shown(provider.name()), "' threw an exception while it was added",
               what.empty() ? "" : ": ", shown(what, most))};
} catch (const std::bad_alloc&) {
  return {StatusCode::invalid_argument, {}};
}

/// The state of a registry that could not be allocated, or was moved from.
const Status& no_registry() noexcept {
  static Immortal<Status> status(StatusCode::out_of_memory, std::string());
  return status.get();
}

bool is_builtin(const KernelProvider& provider) noexcept {
  return std::ranges::any_of(builtin_providers(), [&provider](const TableProvider& b) { return &b == &provider; });
}

Member member_of(const KernelProvider& provider, const CpuInfo& cpu) {
  return {&provider,           is_builtin(provider),    std::string(provider.name()),
          provider.priority(), provider.available(cpu), provider.kernels()};
}

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

RegistryConfig RegistryConfig::from_env() try {
  return {env("NIBBLAS_PROVIDER"), env("NIBBLAS_MAX_ISA"), env("NIBBLAS_DISABLE")};
} catch (const std::bad_alloc&) {
  // Ignoring what the user set would be silent: this becomes a config error. Short enough to need no allocation.
  return {"out of memory", {}, {}};
}

struct KernelRegistry::Impl {
  Impl(CpuInfo c, RegistryConfig r) : cpu(std::move(c)), config(std::move(r)), parsed(config) { publish({}); }

  const Snapshot& snapshot() const noexcept { return *current.load(std::memory_order_acquire); }

  /// Makes `next` the members. Throws std::bad_alloc and then changes nothing.
  void publish(std::vector<Member> next) {
    snapshots.reserve(snapshots.size() + 1);
    auto fresh = std::make_unique<const Snapshot>(SnapshotInput{next, cpu, parsed, gone, problem});
    members.swap(next);
    current.store(fresh.get(), std::memory_order_release);
    snapshots.push_back(std::move(fresh));
  }

  Status add(const KernelProvider& provider) {
    if (std::ranges::any_of(members, [&provider](const Member& m) { return m.provider == &provider; })) {
      return {};
    }
    Member member = member_of(provider, cpu);
    if (Status s = check_provider(member, members); !s.ok()) {
      return s;
    }
    std::vector<Member> next = members;
    next.push_back(std::move(member));
    publish(std::move(next));
    return {};
  }

  Status remove(std::string_view name) {
    const auto it = std::ranges::find_if(members, [name](const Member& m) { return ascii_iequals(m.name, name); });
    if (it == members.end()) {
      return {StatusCode::not_found, text("no provider '", shown(name), "'; valid: ",
                                          names_of(snapshot().entries(), [](const Entry&) { return true; }))};
    }
    remember(*it);
    std::vector<Member> next = members;
    next.erase(next.begin() + (it - members.begin()));
    publish(std::move(next));
    return {};
  }

  /// Does no harm to a member that stays after all.
  void remember(const Member& m) {
    for (const std::string_view name : parsed.disable) {
      const bool owned = ascii_iequals(m.name, name) || std::ranges::any_of(m.kernels, [name](const Kernel& k) {
                           return ascii_iequals(k.name, name);
                         });
      if (owned && std::ranges::find(gone, name) == gone.end()) {
        gone.emplace_back(name);
      }
    }
  }

  const CpuInfo cpu;
  const RegistryConfig config;
  const ParsedConfig parsed;
  std::mutex mutex;  ///< of everything below but `current`
  Status problem;    ///< a built-in provider could not join
  std::vector<Member> members;
  std::vector<std::string> gone;
  /// All that there ever were: a reader may still look at an old one.
  std::vector<std::unique_ptr<const Snapshot>> snapshots;
  std::atomic<const Snapshot*> current = nullptr;
};

KernelRegistry::KernelRegistry(CpuInfo cpu, RegistryConfig config) {
  try {
    impl_ = std::make_unique<Impl>(std::move(cpu), std::move(config));
  } catch (const std::bad_alloc&) {
    impl_ = nullptr;  // config_status() says so
  }
}

KernelRegistry::~KernelRegistry() = default;
KernelRegistry::KernelRegistry(KernelRegistry&&) noexcept = default;
KernelRegistry& KernelRegistry::operator=(KernelRegistry&&) noexcept = default;

KernelRegistry KernelRegistry::builtin(CpuInfo cpu, RegistryConfig config) {
  KernelRegistry registry(std::move(cpu), std::move(config));
  for (const TableProvider& provider : builtin_providers()) {
    Status s = registry.add(provider);
    if (s.ok()) {
      continue;
    }
    try {
      if (registry.impl_ != nullptr) {
        registry.impl_->problem = std::move(s);
        registry.impl_->publish(registry.impl_->members);
      }
    } catch (const std::bad_alloc&) {
      registry.impl_ = nullptr;
    }
    break;
  }
  return registry;
}

KernelRegistry& KernelRegistry::shared() {
  const auto make = []() -> KernelRegistry {
    try {
      return builtin();
    } catch (const std::bad_alloc&) {  // from copying the default arguments
      KernelRegistry none(CpuInfo{});
      none.impl_ = nullptr;
      return none;
    }
  };
  static Immortal<KernelRegistry> registry(make());
  return registry.get();
}

const Status& KernelRegistry::config_status() const noexcept {
  return impl_ == nullptr ? no_registry() : impl_->snapshot().config_status();
}

Status KernelRegistry::add(const KernelProvider& provider) {
  if (impl_ == nullptr) {
    return out_of_memory();
  }
  try {
    const std::lock_guard lock(impl_->mutex);
    return impl_->add(provider);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& e) {
    return provider_threw(provider, e.what());
  } catch (...) {
    return provider_threw(provider, {});
  }
}

Status KernelRegistry::remove(std::string_view name) {
  if (impl_ == nullptr) {
    return out_of_memory();
  }
  try {
    const std::lock_guard lock(impl_->mutex);
    return impl_->remove(name);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

const KernelProvider* KernelRegistry::find(std::string_view name) const noexcept {
  const Entry* entry = impl_ == nullptr ? nullptr : impl_->snapshot().find(name);
  return entry == nullptr ? nullptr : entry->member.provider;
}

std::vector<const KernelProvider*> KernelRegistry::providers() const try {
  std::vector<const KernelProvider*> out;
  if (impl_ != nullptr) {
    for (const Entry& e : impl_->snapshot().entries()) {
      out.push_back(e.member.provider);
    }
  }
  return out;
} catch (const std::bad_alloc&) {
  return {};
}

Availability KernelRegistry::usable(const KernelProvider& provider) const try {
  if (impl_ == nullptr) {
    return {false, "no registry"};
  }
  for (const Entry& e : impl_->snapshot().entries()) {
    if (e.member.provider == &provider) {
      return {e.off.empty(), e.off};
    }
  }
  return {false, "not in this registry"};
} catch (const std::bad_alloc&) {
  return {};
}

const CpuInfo& KernelRegistry::cpu() const noexcept { return impl_ == nullptr ? host_cpu() : impl_->cpu; }

Resolution KernelRegistry::resolve(const KernelRequest& request) const {
  Resolution failed;
  if (impl_ == nullptr) {
    failed.status = out_of_memory();
    return failed;
  }
  try {
    return impl_->snapshot().resolve(request);
  } catch (const std::bad_alloc&) {
    failed.status = out_of_memory();
    return failed;
  }
}

const Kernel* KernelRegistry::select(const KernelRequest& request) const noexcept {
  return impl_ == nullptr ? nullptr : impl_->snapshot().select(request);
}

std::string KernelRegistry::explain(const KernelRequest& request) const try {
  return to_text(request, resolve(request));
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace nibblas
