// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nibblas/cpu.hpp"
#include "nibblas/kernel.hpp"

namespace nibblas {

struct Availability {
  bool usable = false;
  std::string reason;  ///< why not; empty when usable
};

/// A named set of kernels. Built-in ones have priority 0 (scalar), 80-99 (xsimd), 100 and more (hand-tuned). A provider
/// must outlive every registry it is added to.
class NIBBLAS_API KernelProvider {
 public:
  virtual ~KernelProvider() = default;
  KernelProvider() = default;
  KernelProvider(const KernelProvider&) = delete;
  KernelProvider& operator=(const KernelProvider&) = delete;

  virtual std::string_view name() const noexcept = 0;
  virtual int priority() const noexcept = 0;
  virtual Availability available(const CpuInfo& cpu) const = 0;
  /// The same span, with the same contents, for as long as the provider lives.
  virtual std::span<const Kernel> kernels() const noexcept = 0;
};

}  // namespace nibblas
