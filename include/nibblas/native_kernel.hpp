// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "nibblas/export.hpp"
#include "nibblas/provider.hpp"
#include "nibblas/registry.hpp"
#include "nibblas/status.hpp"

namespace nibblas {

/// Takes a sentence for the user; the view lives as long as the call.
using WarningCallback = void (*)(std::string_view message, void* user);

/// A provider of one whole kernel that another library brings, say a ternary gemv on raw bitnet_b158 codes, or does not
/// bring: the engine fills kernel.whole.run with what it found, null if nothing. It serves kernel.key and no other.
/// Must outlive every registry it is installed in.
class NIBBLAS_API NativeKernel final : public KernelProvider {
 public:
  /// `warn` may be null. kernel.name must live as long as this.
  NativeKernel(std::string provider, int priority, const Kernel& kernel, WarningCallback warn, void* user);

  /// Adds this provider and returns true. Without a native function it adds nothing and returns false, and the first
  /// time calls `warn`: the next provider serves the key. Errors: those of KernelRegistry::add.
  Result<bool> install(KernelRegistry& registry) noexcept;

  std::string_view name() const noexcept override { return provider_; }
  int priority() const noexcept override { return priority_; }
  /// Does the CPU have what kernel.needs names?
  Availability available(const CpuInfo& cpu) const override;
  std::span<const Kernel> kernels() const noexcept override { return kernel_; }

 private:
  void warn_once() noexcept;

  std::string provider_;
  int priority_;
  std::array<Kernel, 1> kernel_;
  WarningCallback warn_;
  void* user_;
  std::atomic<bool> warned_ = false;
};

}  // namespace nibblas
