// SPDX-License-Identifier: Apache-2.0
#include "nibblas/native_kernel.hpp"

#include <new>
#include <utility>

#include "ascii.hpp"
#include "cpu_detect.hpp"
#include "status_message.hpp"

namespace nibblas {

NativeKernel::NativeKernel(std::string provider, int priority, const Kernel& kernel, WarningCallback warn, void* user)
    : provider_(std::move(provider)), priority_(priority), kernel_{kernel}, warn_(warn), user_(user) {}

Result<bool> NativeKernel::install(KernelRegistry& registry) noexcept {
  if (kernel_[0].whole.run == nullptr) {
    warn_once();
    return false;
  }
  try {
    if (Status s = registry.add(*this); !s) return s;
    return true;
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, {});
  }
}

Availability NativeKernel::available(const CpuInfo& cpu) const {
  std::string why = why_missing(cpu, kernel_[0].needs);
  return {why.empty(), std::move(why)};
}

void NativeKernel::warn_once() noexcept {
  if (warn_ == nullptr || warned_.exchange(true)) return;
  try {
    const KernelKey& key = kernel_[0].key;
    warn_(text("provider '", shown(provider_), "' has no native kernel for ", to_string(key.op), " ",
               text_of(key.weights), " ", text_of(key.compute), "; nothing was registered"),
          user_);
  } catch (...) {
    // Without memory for the sentence, or with a callback that throws, the answer of install() has to do.
  }
}

}  // namespace nibblas
