// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

#include "nibblas/executor.hpp"
#include "support/fill.hpp"

// Executors as an engine might bring them.

namespace nibblas::test {

/// Claims any concurrency, runs on the caller, first task last or in random order.
class OrderExecutor final : public Executor {
 public:
  enum class Order { forward, reverse, shuffled };
  OrderExecutor(std::size_t concurrency, Order order, std::uint64_t seed = 1)
      : concurrency_(concurrency), order_(order), random_(seed) {}

  std::size_t concurrency() const noexcept override { return concurrency_; }
  void parallel_for(std::size_t n, Task task) noexcept override {
    ++jobs;
    std::vector<std::size_t> index(n);
    std::iota(index.begin(), index.end(), std::size_t{0});
    if (order_ == Order::reverse) std::reverse(index.begin(), index.end());
    if (order_ == Order::shuffled) {
      for (std::size_t i = n; i > 1; --i) std::swap(index[i - 1], index[random_.below(i)]);
    }
    for (const std::size_t i : index) task.run(task.arg, i);
  }

  std::size_t jobs = 0;

 private:
  std::size_t concurrency_;
  Order order_;
  Random random_;
};

/// A thread a task, started for the occasion. `around` is called in the thread: around(task) must run task().
class ThreadsExecutor final : public Executor {
 public:
  using Around = void (*)(void* user, void (*run)(void*), void* arg);
  explicit ThreadsExecutor(std::size_t concurrency, Around around = nullptr, void* user = nullptr)
      : concurrency_(concurrency), around_(around), user_(user) {}

  std::size_t concurrency() const noexcept override { return concurrency_; }
  void parallel_for(std::size_t n, Task task) noexcept override {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < n; ++i) {
      threads.emplace_back([this, task, i] {
        struct Call {
          Task task;
          std::size_t index;
        } call{task, i};
        const auto run = [](void* arg) {
          const Call& c = *static_cast<const Call*>(arg);
          c.task.run(c.task.arg, c.index);
        };
        if (around_ != nullptr) {
          around_(user_, run, &call);
        } else {
          run(&call);
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }

 private:
  std::size_t concurrency_;
  Around around_;
  void* user_;
};

}  // namespace nibblas::test
