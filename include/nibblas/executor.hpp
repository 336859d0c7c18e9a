// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "nibblas/export.hpp"

namespace nibblas {

/// One function for each index. Does not own what `arg` points to.
struct Task {
  void (*run)(void* arg, std::size_t index) noexcept;
  void* arg;
};

/// Where the work runs: the caller's threads, a pool, or nothing but the calling thread.
class NIBBLAS_API Executor {
 public:
  virtual ~Executor() = default;
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// How many tasks may run at once, >= 1.
  virtual std::size_t concurrency() const noexcept = 0;
  /// Runs task(i) once for each i in [0, n) and returns when all are done; any thread, any order.
  virtual void parallel_for(std::size_t n, Task task) noexcept = 0;
};

/// Everything on the calling thread.
NIBBLAS_API Executor& serial_executor() noexcept;

/// A pool of threads for one or more callers. `threads` counts the calling thread; 0 = default_thread_count(). More
/// than 4096 count as 4096, and threads that cannot be created are done without: concurrency() tells how many there
/// are.
class NIBBLAS_API ThreadPool final : public Executor {
 public:
  explicit ThreadPool(std::size_t threads = 0);
  ~ThreadPool() override;
  std::size_t concurrency() const noexcept override;
  void parallel_for(std::size_t n, Task task) noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// CPUs this process may use: affinity, and on Linux the cgroup quota rounded down; >= 1.
NIBBLAS_API std::size_t default_thread_count() noexcept;

}  // namespace nibblas
