// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "isa/table.hpp"
#include "nibblas/provider.hpp"

namespace nibblas {

/// Makes a provider of the plain table that an ISA translation unit exports, so that no object built with
/// instruction-set flags holds a vtable.
class TableProvider final : public KernelProvider {
 public:
  explicit TableProvider(const KernelTable& table) noexcept : table_(table) {}

  std::string_view name() const noexcept override { return table_.name; }
  int priority() const noexcept override { return table_.priority; }
  Availability available(const CpuInfo& cpu) const override;
  std::span<const Kernel> kernels() const noexcept override { return {table_.kernels, table_.count}; }

 private:
  const KernelTable& table_;
};

/// Every provider of this build, whether or not this CPU can run it; the same objects for the life of the process.
std::span<const TableProvider> builtin_providers() noexcept;

}  // namespace nibblas
