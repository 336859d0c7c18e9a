// SPDX-License-Identifier: Apache-2.0
#include "nibblas/executor.hpp"

#include <new>

namespace nibblas {
namespace {

class SerialExecutor final : public Executor {
 public:
  std::size_t concurrency() const noexcept override { return 1; }
  void parallel_for(std::size_t n, Task task) noexcept override {
    for (std::size_t i = 0; i < n; ++i) task.run(task.arg, i);
  }
};

}  // namespace

Executor& serial_executor() noexcept {
  // Never destroyed, so that destructors of statics may still compute.
  alignas(SerialExecutor) static std::byte storage[sizeof(SerialExecutor)];
  static Executor& executor = *new (storage) SerialExecutor;
  return executor;
}

}  // namespace nibblas
