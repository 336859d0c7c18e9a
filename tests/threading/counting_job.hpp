// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "nibblas/executor.hpp"

// ThreadSanitizer slows down by a factor and does not follow forks.
#if defined(__SANITIZE_THREAD__)
#define NIBBLAS_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NIBBLAS_TEST_TSAN 1
#endif
#endif

namespace nibblas::test {

#if defined(NIBBLAS_TEST_TSAN)
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

/// Any callable as a Task. It must not throw.
template <class F>
void run_on(Executor& executor, std::size_t n, const F& f) {
  const Task task{[](void* arg, std::size_t i) noexcept { (*static_cast<const F*>(arg))(i); }, const_cast<F*>(&f)};
  executor.parallel_for(n, task);
}

/// Counts how often each index ran.
class CountingJob {
 public:
  explicit CountingJob(std::size_t n) : n_(n), runs_(new std::atomic<unsigned>[n + 1] {}) {}

  void run(Executor& executor) {
    run_on(executor, n_, [this](std::size_t i) { count(i); });
  }
  /// An index outside of [0, n) is counted in a place of its own.
  void count(std::size_t i) noexcept { runs_[i < n_ ? i : n_].fetch_add(1, std::memory_order_relaxed); }
  /// Did every index run `times` times, and no other?
  bool complete(unsigned times = 1) const {
    for (std::size_t i = 0; i < n_; ++i) {
      if (runs_[i].load(std::memory_order_relaxed) != times) return false;
    }
    return runs_[n_].load(std::memory_order_relaxed) == 0;
  }

 private:
  std::size_t n_;
  std::unique_ptr<std::atomic<unsigned>[]> runs_;
};

}  // namespace nibblas::test
