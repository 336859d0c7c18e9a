// SPDX-License-Identifier: Apache-2.0
#include "thread_pool.hpp"

#include <algorithm>
#include <cfenv>
#include <exception>
#include <new>

#if defined(__unix__) || defined(__APPLE__)
#define NIBBLAS_POSIX_THREADS 1
#include <pthread.h>
#include <signal.h>
#endif
#if defined(__linux__)
#include <cstdio>
#endif

namespace nibblas {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Waiting threads spin, then sleep; they never yield. A yield costs nothing on an idle machine, but beside other
// programs it gives a whole time slice away, where a thread that slept is soon run when woken.
//
// A worker spins for the maximum when the last job came within about that time, and for less after each longer wait,
// down to the minimum. The maximum covers what an engine does between two products of a decode step; even 256 workers
// that all spin in vain use less than 30 ms, once.
constexpr microseconds kMinWorkerSpin{12};
constexpr microseconds kMaxWorkerSpin{100};
// What waking a thread costs both sides (31 us in a virtual machine on the development machine's CPU), rounded up.
constexpr microseconds kWakeUp{50};
// The caller waits for tasks that already run.
constexpr microseconds kCallerSpin{100};
constexpr int kPausesPerClock = 32;
// A thread wakes this many, and each of them as many again: the caller soon starts on its own share, short jobs wake
// few, and long ones reach all workers in a few steps.
constexpr std::size_t kWakeFanout = 2;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Waits up to about `budget` for ready(); its last answer.
template <class Ready>
bool spin(Ready ready, std::chrono::nanoseconds budget) noexcept {
  const Clock::time_point deadline = Clock::now() + budget;
  do {
    for (int i = 0; i < kPausesPerClock; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (Clock::now() < deadline);
  return ready();
}

#if defined(NIBBLAS_POSIX_THREADS)

/// How many forks lie between the first process that made a pool and this one.
std::atomic<unsigned> fork_count{0};

/// False when forks cannot be noticed.
bool watch_forks() noexcept {
  static const bool watching =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); }) == 0;
  return watching;
}

unsigned forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

/// Threads started in its scope have all signals blocked: handlers are the application's, on its own threads.
class BlockSignals {
 public:
  BlockSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    blocked_ = pthread_sigmask(SIG_SETMASK, &all, &old_) == 0;
  }
  ~BlockSignals() {
    if (blocked_) pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t old_;
  bool blocked_ = false;
};

#else

bool watch_forks() noexcept { return true; }
unsigned forks() noexcept { return 0; }
struct BlockSignals {
  ~BlockSignals() {}
};

#endif

void name_this_thread([[maybe_unused]] std::size_t number) noexcept {
#if defined(__linux__)
  char name[16];  // the kernel's limit
  std::snprintf(name, sizeof name, "nibblas-%u", static_cast<unsigned>(number));
  pthread_setname_np(pthread_self(), name);
#endif
}

}  // namespace

std::thread start_thread(void (*body)(void*), void* arg) { return std::thread(body, arg); }

WorkerPool::WorkerPool(std::size_t threads, std::size_t cpus, StartThread start) noexcept : fork_count_(forks()) {
  const std::size_t wanted = std::clamp<std::size_t>(threads, 1, kMaxThreads) - 1;
  if (wanted == 0 || !watch_forks()) return;
  workers_.reset(new (std::nothrow) Worker[wanted]);
  if (workers_ == nullptr) return;
  max_spinning_ = std::min(wanted, std::max<std::size_t>(cpus, 1) - 1);
  // With fewer CPUs than threads the caller may hold the one that a task needs.
  caller_spin_ = max_spinning_ == wanted ? kCallerSpin : std::chrono::nanoseconds::zero();
  const BlockSignals block;
  for (; worker_count_ < wanted; ++worker_count_) {
    Worker& worker = workers_[worker_count_];
    worker.pool = this;
    worker.number = worker_count_ + 1;
    worker.spin_budget = kMaxWorkerSpin;
    try {
      worker.thread = start(&WorkerPool::worker_main, &worker);
    } catch (const std::exception&) {
      return;
    }
  }
}

WorkerPool::~WorkerPool() {
  if (forked()) {
    // The threads are the parent's: they can be neither joined nor detached here, so their handles are given up.
    static_cast<void>(workers_.release());
    return;
  }
  stop_.store(true, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < worker_count_; ++i) workers_[i].spot.wake();
  for (std::size_t i = 0; i < worker_count_; ++i) workers_[i].thread.join();
}

bool WorkerPool::forked() const noexcept { return fork_count_ != forks(); }

bool WorkerPool::ready() const noexcept {
  return remaining_.load(std::memory_order_seq_cst) != 0 || stop_.load(std::memory_order_seq_cst);
}

void WorkerPool::parallel_for(std::size_t n, Task task) noexcept {
  // A pool that is busy, with another caller's job or with the one this call is nested in, leaves the work to its
  // caller: nobody ever waits for a job of somebody else.
  if (n > 1 && concurrency() > 1 && !busy_.exchange(true, std::memory_order_acquire)) {
    run_job(n, task);
    busy_.store(false, std::memory_order_release);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) task.run(task.arg, i);
}

void WorkerPool::run_job(std::size_t n, Task task) noexcept {
  n_ = n;
  task_ = task;
  unfinished_.store(n, std::memory_order_relaxed);
  remaining_.store(n - 1, std::memory_order_seq_cst);  // index 0 is the caller's
  const std::size_t sleepers = sleepers_.load(std::memory_order_seq_cst);
  if (sleepers != 0) wake(n - 1, worker_count_ - std::min(sleepers, worker_count_));
  run_from(n);
  wait_for_workers();
}

/// Takes an index: how many were left, with it; 0 when there was none.
std::size_t WorkerPool::take() noexcept {
  std::size_t left = remaining_.load(std::memory_order_acquire);
  while (left != 0 && !remaining_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) {
  }
  return left;
}

/// Runs the index just taken and all that can be had after it. They are counted as finished at the end, in one go.
void WorkerPool::run_from(std::size_t left) noexcept {
  const std::size_t n = n_;
  const Task task = task_;
  std::size_t done = 0;
  do {
    task.run(task.arg, n - left);
    ++done;
    left = take();
  } while (left != 0);
  if (unfinished_.fetch_sub(done, std::memory_order_seq_cst) == done) caller_.wake();
}

void WorkerPool::wait_for_workers() noexcept {
  const auto finished = [this] { return unfinished_.load(std::memory_order_seq_cst) == 0; };
  if (finished() || spin(finished, caller_spin_)) return;
  while (true) {
    caller_.announce();
    if (finished()) break;
    caller_.sleep();  // a worker that was late to wake the last job's caller may wake this one early
  }
  caller_.cancel();
}

/// Wakes sleepers for `indices` indices of which `takers` are awake to take one each.
void WorkerPool::wake(std::size_t indices, std::size_t takers) noexcept {
  if (indices <= takers) return;
  std::size_t want = std::min(indices - takers, kWakeFanout);
  for (std::size_t i = 0; i < worker_count_ && want != 0; ++i) {
    if (!workers_[i].spot.wake()) continue;
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    --want;
  }
}

void WorkerPool::worker_main(void* worker) {
  auto& me = *static_cast<Worker*>(worker);
  std::fesetenv(FE_DFL_ENV);  // the creator's rounding mode and flush-to-zero were inherited
  name_this_thread(me.number);
  me.pool->work(me);
}

void WorkerPool::work(Worker& me) noexcept {
  bool slept = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (const std::size_t left = take(); left != 0) {
      if (slept && sleepers_.load(std::memory_order_seq_cst) != 0) wake(left - 1, 0);
      run_from(left);
    }
    slept = wait_for_job(me);
  }
}

/// Returns when there may be something to do: true after a sleep.
bool WorkerPool::wait_for_job(Worker& me) noexcept {
  const Clock::time_point begin = Clock::now();
  const bool may_spin = spinning_.fetch_add(1, std::memory_order_relaxed) < max_spinning_;
  const bool found = may_spin && spin([this] { return ready(); }, me.spin_budget);
  spinning_.fetch_sub(1, std::memory_order_relaxed);
  if (!found) park(me);
  const bool soon = Clock::now() - begin < kMaxWorkerSpin + kWakeUp;
  me.spin_budget = soon ? kMaxWorkerSpin : std::max<std::chrono::nanoseconds>(me.spin_budget / 2, kMinWorkerSpin);
  return !found;
}

void WorkerPool::park(Worker& me) noexcept {
  // Counted first, so that whoever wakes the worker never subtracts it before it was added.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  me.spot.announce();
  if (!ready()) {
    me.spot.sleep();
  } else if (me.spot.cancel()) {
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

struct ThreadPool::Impl {
  WorkerPool pool;
};

ThreadPool::ThreadPool(std::size_t threads) {
  const std::size_t cpus = default_thread_count();
  impl_.reset(new (std::nothrow) Impl{{threads == 0 ? cpus : threads, cpus}});
}

ThreadPool::~ThreadPool() = default;

std::size_t ThreadPool::concurrency() const noexcept { return impl_ ? impl_->pool.concurrency() : 1; }

void ThreadPool::parallel_for(std::size_t n, Task task) noexcept {
  if (impl_ == nullptr) return serial_executor().parallel_for(n, task);
  impl_->pool.parallel_for(n, task);
}

}  // namespace nibblas
