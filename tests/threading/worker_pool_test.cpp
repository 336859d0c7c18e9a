// SPDX-License-Identifier: Apache-2.0
// What is behind ThreadPool: thread creation, the workers' surroundings, idling.
#include <gtest/gtest.h>

#include <cfenv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>
#include <thread>

#include "thread_pool.hpp"
#include "threading/counting_job.hpp"

#if defined(__unix__)
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nibblas::test {
namespace {

/// WorkerPool is no Executor; the tests' helpers want one.
class PoolExecutor final : public Executor {
 public:
  PoolExecutor(std::size_t threads, std::size_t cpus, StartThread start = start_thread) : pool(threads, cpus, start) {}
  std::size_t concurrency() const noexcept override { return pool.concurrency(); }
  void parallel_for(std::size_t n, Task task) noexcept override { pool.parallel_for(n, task); }

  WorkerPool pool;
};

/// Runs f(i) for i in [0, threads) on as many threads at once: all workers and the caller.
template <class F>
void run_on_all(Executor& executor, const F& f) {
  const std::size_t threads = executor.concurrency();
  std::atomic<std::size_t> arrived{0};
  run_on(executor, threads, [&](std::size_t i) {
    f(i);
    arrived.fetch_add(1);
    while (arrived.load() < threads) std::this_thread::yield();
  });
}

std::atomic<int> threads_left{0};

std::thread start_few(void (*body)(void*), void* arg) {
  if (threads_left.fetch_sub(1) <= 0) {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  return start_thread(body, arg);
}

TEST(WorkerPool, DoesWithoutThreadsThatCannotBeCreated) {
  for (const int granted : {0, 1, 5}) {
    threads_left.store(granted);
    PoolExecutor pool(9, 2, start_few);
    EXPECT_EQ(pool.concurrency(), static_cast<std::size_t>(granted) + 1);
    for (int round = 0; round < 100; ++round) {
      CountingJob job(30);
      job.run(pool);
      ASSERT_TRUE(job.complete()) << granted;
    }
    std::atomic<std::size_t> ran{0};
    run_on_all(pool, [&](std::size_t) { ran.fetch_add(1); });
    EXPECT_EQ(ran.load(), pool.concurrency());
  }
}

std::thread start_never(void (*)(void*), void*) { throw std::bad_alloc(); }

TEST(WorkerPool, DoesWithoutMemoryForThreads) {
  PoolExecutor pool(4, 4, start_never);
  EXPECT_EQ(pool.concurrency(), 1u);
  CountingJob job(30);
  job.run(pool);
  EXPECT_TRUE(job.complete());
}

std::atomic<bool> may_start{false};

std::thread start_late(void (*body)(void*), void* arg) {
  return std::thread([=] {
    while (!may_start.load()) std::this_thread::yield();
    body(arg);
  });
}

TEST(WorkerPool, CallerDoesNotWaitForWorkersThatHaveNotStarted) {
  may_start.store(false);
  PoolExecutor pool(3, 3, start_late);
  for (int round = 0; round < 100; ++round) {
    CountingJob job(10);
    job.run(pool);  // would hang
    ASSERT_TRUE(job.complete());
  }
  may_start.store(true);
  std::atomic<std::size_t> ran{0};
  run_on_all(pool, [&](std::size_t) { ran.fetch_add(1); });
  EXPECT_EQ(ran.load(), 3u);
}

TEST(WorkerPool, NoWorkerSleepsThroughAJob) {
  // Every worker is needed, so a lost wake-up hangs. On few CPUs the workers go to sleep right after each job, just
  // when the next one comes.
  for (const std::size_t cpus : {0u, 1u, 2u, 3u, 100u}) {
    PoolExecutor pool(4, cpus);
    for (int round = 0; round < (kTsan ? 300 : 2000); ++round) {
      std::atomic<std::size_t> ran{0};
      run_on_all(pool, [&](std::size_t) { ran.fetch_add(1); });
      ASSERT_EQ(ran.load(), 4u) << cpus << " cpus";
    }
  }
}

TEST(WorkerPool, NoWorkerSleepsThroughAJobThatComesAsItLiesDown) {
  // One worker that never spins, and pauses that sweep the moment between its last look and its sleep.
  PoolExecutor pool(2, 1);
  for (int round = 0; round < (kTsan ? 1000 : 20000); ++round) {
    std::atomic<std::size_t> ran{0};
    run_on_all(pool, [&](std::size_t) { ran.fetch_add(1); });
    ASSERT_EQ(ran.load(), 2u);
    for (int k = round % 64; k > 0; --k) static_cast<void>(ran.load());
  }
}

TEST(WorkerPool, WakesAllOfManySleepers) {
  PoolExecutor pool(40, 1);
  for (int round = 0; round < 10; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until all of them sleep
    std::atomic<std::size_t> ran{0};
    run_on_all(pool, [&](std::size_t) { ran.fetch_add(1); });
    ASSERT_EQ(ran.load(), 40u);
  }
}

TEST(WorkerPool, AbsurdThreadCountIsCapped) {
  threads_left.store(3);
  PoolExecutor pool(~std::size_t{0}, 2, start_few);
  EXPECT_EQ(pool.concurrency(), 4u);
}

#if defined(__unix__)
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

TEST(WorkerPool, IdlePoolUsesNoCpu) {
  PoolExecutor pool(8, 8);  // as if all of them might spin
  for (int round = 0; round < 100; ++round) CountingJob(16).run(pool);
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(cpu_seconds() - before, 0.05);
}

TEST(WorkerPool, WaitingCallerSleeps) {
  // A task that only sleeps: nobody should burn the CPU for long meanwhile, the caller included.
  PoolExecutor pool(2, 2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> worker_arrived{false};
  const double before = cpu_seconds();
  run_on(pool, 2, [&](std::size_t) {
    if (std::this_thread::get_id() == caller) {
      while (!worker_arrived.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      worker_arrived.store(true);
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  });
  EXPECT_LT(cpu_seconds() - before, 0.1);
}

std::atomic<int> signals_on_caller{0}, signals_elsewhere{0};
pthread_t signal_owner;

TEST(WorkerPool, WorkersBlockSignals) {
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = [](int) {
    (pthread_equal(pthread_self(), signal_owner) != 0 ? signals_on_caller : signals_elsewhere).fetch_add(1);
  };
  signal_owner = pthread_self();
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  PoolExecutor pool(4, 2);
  std::atomic<int> open{0};
  const pthread_t caller = pthread_self();
  run_on_all(pool, [&](std::size_t) {
    sigset_t mask;
    if (pthread_sigmask(SIG_SETMASK, nullptr, &mask) != 0) return;
    if (pthread_equal(pthread_self(), caller) == 0 && sigismember(&mask, SIGUSR1) == 0) open.fetch_add(1);
  });
  EXPECT_EQ(open.load(), 0);
  sigset_t mask;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &mask), 0);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0) << "the creator's mask was not restored";
  for (int i = 0; i < 20; ++i) kill(getpid(), SIGUSR1);
  EXPECT_GT(signals_on_caller.load(), 0);
  EXPECT_EQ(signals_elsewhere.load(), 0);
  sigaction(SIGUSR1, &old, nullptr);
}
#endif

#if defined(__linux__)
TEST(WorkerPool, WorkersHaveNames) {
  PoolExecutor pool(3, 2);
  const pthread_t caller = pthread_self();
  std::atomic<int> named{0};
  run_on_all(pool, [&](std::size_t) {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (std::strcmp(name, "nibblas-1") == 0 || std::strcmp(name, "nibblas-2") == 0) named.fetch_add(1);
    if (pthread_equal(pthread_self(), caller) != 0 && std::strncmp(name, "nibblas", 7) == 0) named.fetch_add(100);
  });
  // The test program's own name begins otherwise.
  EXPECT_EQ(named.load(), 2);
}
#endif

TEST(WorkerPool, WorkersStartWithTheDefaultFloatingPointEnvironment) {
  std::fenv_t saved;
  ASSERT_EQ(std::fegetenv(&saved), 0);
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ and DAZ
#endif
  PoolExecutor pool(3, 2);
  std::fesetenv(&saved);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> checked{0}, wrong{0};
  run_on_all(pool, [&](std::size_t) {
    if (std::this_thread::get_id() == caller) return;
    volatile float tiny = 1e-38f;
    const float subnormal = tiny * 0.01f;
    if (std::fegetround() != FE_TONEAREST || !(subnormal > 0.0f)) wrong.fetch_add(1);
#if defined(__x86_64__)
    if ((_mm_getcsr() & ~0x3fu) != 0x1f80u) wrong.fetch_add(1);  // besides sticky flags, the processor's default
#endif
    checked.fetch_add(1);
  });
  EXPECT_EQ(checked.load(), 2);
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace nibblas::test
