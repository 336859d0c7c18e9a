// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nibblas/cpu.hpp"
#include "nibblas/provider.hpp"
#include "nibblas/status.hpp"

namespace nibblas {

/// What may be set from outside. from_env() reads NIBBLAS_PROVIDER, NIBBLAS_MAX_ISA and NIBBLAS_DISABLE.
struct RegistryConfig {
  std::string force_provider = {};  ///< only this provider, with scalar below it for keys that it lacks
  /// "scalar", "avx2", ...: a built-in provider. Kernels that need a CPU feature beyond the instruction set it is made
  /// for are off, those of providers from outside included; one that names no needs stays.
  std::string max_isa = {};
  std::string disable = {};  ///< comma-separated provider or kernel names

  NIBBLAS_API static RegistryConfig from_env();
};

/// One question to the registry.
struct KernelRequest {
  KernelKey key;
  std::string_view provider = {};  ///< only this one (else a status); case-insensitive
  bool allow_tolerance = false;    ///< kernels without the canonical bits may be chosen
  std::uint32_t layout_id = 0;     ///< the weights' packed layout; 0 = rows as in the file
  bool tiled_only = false;         ///< X is prepared already, which whole kernels cannot read
  CpuFeatures require = {};        ///< only kernels that use all of these (Kernel::needs), else a status
};

struct Candidate {
  std::string provider;
  std::string kernel;
  int priority = 0;
  bool chosen = false;
  std::string reason;  ///< why it was chosen, or why it lost
};

struct Resolution {
  Status status;
  const Kernel* kernel = nullptr;  ///< null unless status.ok()
  std::string provider;
  std::vector<Candidate> trail;  ///< every provider, highest priority first
};

/// Providers and the choice among them. Reads are lock-free on an immutable snapshot and may run while another thread
/// adds or removes; writes are serialised. Removing a provider does not wait for products that run on it.
class NIBBLAS_API KernelRegistry {
 public:
  /// Empty: for tests and for engines that bring everything themselves.
  explicit KernelRegistry(CpuInfo cpu = host_cpu(), RegistryConfig config = {});
  ~KernelRegistry();
  KernelRegistry(KernelRegistry&&) noexcept;
  KernelRegistry& operator=(KernelRegistry&&) noexcept;

  /// With the built-in providers of this build. A bad config shows in config_status() and in every product.
  static KernelRegistry builtin(CpuInfo cpu = host_cpu(), RegistryConfig config = RegistryConfig::from_env());
  /// The one that a Context without a registry uses: builtin(), made on first use.
  static KernelRegistry& shared();

  /// ok, or the unknown or unusable value and the list of valid ones.
  const Status& config_status() const noexcept;

  /// Adds a provider. Adding the same object twice is a no-op. Errors: another provider has its name; a kernel is
  /// malformed (neither tiled nor whole, null function, illegal key, a name that is taken). Names have at most 64
  /// bytes, without commas, spaces and control characters.
  Status add(const KernelProvider& provider);
  Status remove(std::string_view name);
  /// Case-insensitive; null when there is none.
  const KernelProvider* find(std::string_view name) const noexcept;
  std::vector<const KernelProvider*> providers() const;
  /// May it be used here: available on this CPU and not switched off?
  Availability usable(const KernelProvider& provider) const;
  const CpuInfo& cpu() const noexcept;

  /// The choice and its trail. Allocates; for people and for set-up.
  Resolution resolve(const KernelRequest& request) const;
  /// The choice alone: the kernel resolve() names, or null. Neither allocates nor locks.
  const Kernel* select(const KernelRequest& request) const noexcept;
  /// resolve() as text, one line a candidate.
  std::string explain(const KernelRequest& request) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nibblas
