// SPDX-License-Identifier: Apache-2.0
// ThreadPool and serial_executor as their users see them.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "threading/counting_job.hpp"

namespace nibblas::test {
namespace {

TEST(SerialExecutor, RunsInOrderOnTheCaller) {
  std::vector<std::size_t> order;
  run_on(serial_executor(), 5, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(serial_executor().concurrency(), 1u);
  EXPECT_EQ(&serial_executor(), &serial_executor());
}

TEST(CountingJob, SeesMissingDoubleAndForeignIndices) {
  CountingJob job(2);
  job.count(0);
  EXPECT_FALSE(job.complete());
  job.count(1);
  EXPECT_TRUE(job.complete());
  job.count(1);
  EXPECT_FALSE(job.complete());
  job.count(0);
  EXPECT_TRUE(job.complete(2));
  job.count(2);
  EXPECT_FALSE(job.complete(2));
}

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const std::size_t threads : {1u, 2u, 3u, 8u, 17u, 64u}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.concurrency(), threads);
    for (const std::size_t n : {0u, 1u, 2u, 3u, 7u, 8u, 63u, 64u, 65u, 1000u, 20000u}) {
      CountingJob job(n);
      job.run(pool);
      EXPECT_TRUE(job.complete()) << threads << " threads, n = " << n;
    }
  }
}

TEST(ThreadPool, ZeroThreadsMeansTheDefault) {
  ThreadPool pool;
  EXPECT_EQ(pool.concurrency(), default_thread_count());
  CountingJob job(100);
  job.run(pool);
  EXPECT_TRUE(job.complete());
}

TEST(ThreadPool, SingleIndexRunsOnTheCaller) {
  ThreadPool pool(4);
  std::thread::id runner;
  run_on(pool, 1, [&](std::size_t) { runner = std::this_thread::get_id(); });
  EXPECT_EQ(runner, std::this_thread::get_id());
}

TEST(ThreadPool, UsesItsWorkers) {
  // Each task waits for all others, so the job ends only if each of them has a thread.
  constexpr std::size_t threads = 4;
  ThreadPool pool(threads);
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::size_t> arrived{0};
    run_on(pool, threads, [&](std::size_t) {
      arrived.fetch_add(1);
      while (arrived.load() < threads) std::this_thread::yield();
    });
    EXPECT_EQ(arrived.load(), threads);
  }
}

TEST(ThreadPool, ResultsAreVisibleToTheCaller) {
  // Plain memory on purpose: ThreadSanitizer sees a missing ordering between tasks and caller, in either direction.
  ThreadPool pool(3);
  std::vector<std::size_t> in(257), out(257);
  for (std::size_t round = 0; round < 200; ++round) {
    std::iota(in.begin(), in.end(), round);
    run_on(pool, in.size(), [&](std::size_t i) { out[i] = in[i] * 2; });
    ASSERT_EQ(std::accumulate(out.begin(), out.end(), std::size_t{0}), 257 * 256 + 2 * 257 * round);
  }
}

TEST(ThreadPool, ManyTinyJobs) {
  // The job lives on the caller's stack and is gone right after the call: a worker that is late would write into it.
  // Tasks of many lengths, so that the workers arrive before, during and after the job.
  ThreadPool pool(3);
  for (std::size_t j = 0; j < 100000; ++j) {
    std::atomic<std::size_t> count{0};
    const std::size_t n = j % 5;
    run_on(pool, n, [&](std::size_t i) {
      for (std::size_t k = (j * 31 + i * 17) % 128; k > 0; --k) static_cast<void>(count.load());
      count.fetch_add(1, std::memory_order_relaxed);
    });
    ASSERT_EQ(count.load(), n) << "job " << j;
  }
}

TEST(ThreadPool, JobsAfterPauses) {
  // Pauses of every length around the time when workers go to sleep.
  ThreadPool pool(3);
  for (int i = 0; i < 300; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(i));
    CountingJob job(7);
    job.run(pool);
    ASSERT_TRUE(job.complete()) << "after " << i << " us";
  }
}

TEST(ThreadPool, CreatedAndDestroyedInALoop) {
  for (std::size_t i = 0; i < 500; ++i) {
    ThreadPool pool(1 + i % 6);
    if (i % 3 == 0) continue;  // destroyed before its workers have even started
    CountingJob job(i % 11);
    job.run(pool);
    ASSERT_TRUE(job.complete());
    if (i % 50 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // destroyed while they sleep
  }
}

TEST(ThreadPool, MoreThreadsThanCpus) {
  for (const std::size_t threads : {65u, 128u, 256u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.concurrency(), threads);
    for (const std::size_t n : {2u, 64u, 65u, 256u, 257u, 5000u}) {
      CountingJob job(n);
      job.run(pool);
      EXPECT_TRUE(job.complete()) << threads << " threads, n = " << n;
    }
  }
}

TEST(ThreadPool, SeveralCallersOnOnePool) {
  ThreadPool pool(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < 8; ++c) {
    callers.emplace_back([&, c] {
      for (std::size_t j = 0; j < 500; ++j) {
        CountingJob job(1 + (j + c) % 40);
        job.run(pool);
        if (!job.complete()) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, SeveralCallersOnTheirOwnPools) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < 8; ++c) {
    callers.emplace_back([&, c] {
      ThreadPool pool(2 + c % 3);
      for (std::size_t j = 0; j < 300; ++j) {
        CountingJob job(1 + (j + c) % 40);
        job.run(pool);
        if (!job.complete()) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, BusyPoolDoesNotHoldUpASecondCaller) {
  ThreadPool pool(2);
  std::atomic<bool> inside{false}, release{false};
  std::thread first([&] {
    run_on(pool, 2, [&](std::size_t) {
      inside.store(true);
      while (!release.load()) std::this_thread::yield();
    });
  });
  while (!inside.load()) std::this_thread::yield();
  std::set<std::thread::id> runners;  // not shared: the job is the second caller's alone
  run_on(pool, 16, [&](std::size_t) { runners.insert(std::this_thread::get_id()); });
  EXPECT_EQ(runners, std::set<std::thread::id>{std::this_thread::get_id()});
  release.store(true);
  first.join();
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(4);
  std::atomic<int> wrong{0};
  CountingJob outer(12);
  run_on(pool, 12, [&](std::size_t i) {
    const std::thread::id self = std::this_thread::get_id();
    std::size_t sum = 0;  // not atomic: all of it on this thread
    run_on(pool, 10, [&](std::size_t j) {
      if (std::this_thread::get_id() != self) wrong.fetch_add(1);
      sum += j;
    });
    if (sum != 45) wrong.fetch_add(1);
    outer.count(i);
  });
  EXPECT_TRUE(outer.complete());
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, PoolsThatCallEachOther) {
  ThreadPool a(3), b(3);
  std::vector<std::thread> callers;
  std::atomic<std::size_t> leaves{0};
  const auto nest = [&leaves](Executor& outer, Executor& inner) {
    for (int round = 0; round < 200; ++round) {
      run_on(outer, 4, [&](std::size_t) {
        run_on(inner, 4, [&](std::size_t) {
          run_on(outer, 2, [&](std::size_t) { leaves.fetch_add(1, std::memory_order_relaxed); });
        });
      });
    }
  };
  callers.emplace_back([&] { nest(a, b); });
  callers.emplace_back([&] { nest(b, a); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(leaves.load(), 2u * 200 * 4 * 4 * 2);
}

}  // namespace
}  // namespace nibblas::test
