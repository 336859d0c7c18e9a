// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "nibblas/executor.hpp"

namespace nibblas {

/// Starts a thread that runs body(arg); throws when there is none to be had.
using StartThread = std::thread (*)(void (*body)(void*), void* arg);
std::thread start_thread(void (*body)(void*), void* arg);

/// A place where one thread sleeps until another one wakes it. The sleeper announces itself *before* it looks a last
/// time for what it waits for, and the other side provides that before it calls wake(): so no wake-up is lost.
class ParkingSpot {
 public:
  void announce() noexcept { asleep_.store(1, std::memory_order_seq_cst); }
  /// Returns when woken.
  void sleep() noexcept { asleep_.wait(1, std::memory_order_acquire); }
  /// The sleeper changes its mind; false when somebody woke it in the meantime.
  bool cancel() noexcept { return asleep_.exchange(0, std::memory_order_seq_cst) != 0; }
  /// False when nobody sleeps here.
  bool wake() noexcept {
    if (asleep_.load(std::memory_order_seq_cst) == 0 || !cancel()) return false;
    asleep_.notify_one();
    return true;
  }

 private:
  std::atomic<std::uint32_t> asleep_{0};
};

/// What ThreadPool is made of, with the machine as a parameter.
///
/// A job is one word, the number of indices not yet taken. Taking one is a compare-exchange that decrements it, so a
/// thread is inside a job exactly while it holds an index that is not yet counted as finished; only then may it read
/// the job's fields, and only for those does the caller wait. A worker that comes late finds zero and touches nothing.
class WorkerPool {
 public:
  static constexpr std::size_t kMaxThreads = 4096;

  /// `threads` counts the caller. No more than `cpus` threads ever spin.
  WorkerPool(std::size_t threads, std::size_t cpus, StartThread start = start_thread) noexcept;
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t concurrency() const noexcept { return 1 + (forked() ? 0 : worker_count_); }
  void parallel_for(std::size_t n, Task task) noexcept;

 private:
  struct alignas(64) Worker {
    WorkerPool* pool = nullptr;
    std::size_t number = 0;
    std::chrono::nanoseconds spin_budget{};
    ParkingSpot spot;
    std::thread thread;
  };

  static void worker_main(void* worker);
  /// True in a child process that inherited the pool without its threads.
  bool forked() const noexcept;
  std::size_t take() noexcept;
  void run_from(std::size_t left) noexcept;
  void run_job(std::size_t n, Task task) noexcept;
  void wait_for_workers() noexcept;
  void work(Worker& me) noexcept;
  bool wait_for_job(Worker& me) noexcept;
  void park(Worker& me) noexcept;
  void wake(std::size_t indices, std::size_t takers) noexcept;
  bool ready() const noexcept;

  // The job. `n_` and `task_` are read only by holders of an index.
  alignas(64) std::atomic<std::size_t> remaining_{0};
  std::size_t n_ = 0;
  Task task_{};
  // Where a job ends.
  alignas(64) std::atomic<std::size_t> unfinished_{0};
  ParkingSpot caller_;
  // Written when workers come and go.
  alignas(64) std::atomic<std::size_t> sleepers_{0};
  std::atomic<std::size_t> spinning_{0};
  // Written once a call, or never.
  alignas(64) std::atomic<bool> busy_{false};
  alignas(64) std::atomic<bool> stop_{false};
  std::size_t worker_count_ = 0;
  std::size_t max_spinning_ = 0;
  std::chrono::nanoseconds caller_spin_{};
  unsigned fork_count_ = 0;
  std::unique_ptr<Worker[]> workers_;
};

}  // namespace nibblas
