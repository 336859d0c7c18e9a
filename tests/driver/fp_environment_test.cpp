// SPDX-License-Identifier: Apache-2.0
// The threads that work find their floating-point environment as they left it, and it changes no result.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <thread>
#include <vector>

#include "driver/exact_problem.hpp"
#include "driver/executors.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/matmul.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nibblas::test {
namespace {

/// A hostile setting of this thread: rounding upward and, where there is such a thing, FTZ and DAZ.
void spoil() {
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

/// Everything that spoil() sets and that arithmetic may raise.
unsigned long environment() {
  unsigned long e = static_cast<unsigned long>(std::fegetround()) << 32 |
                    static_cast<unsigned long>(std::fetestexcept(FE_ALL_EXCEPT));
#if defined(__x86_64__)
  e ^= static_cast<unsigned long>(_mm_getcsr()) << 8;
#endif
  return e;
}

class FpEnvironmentTest : public testing::Test {
 protected:
  FpEnvironmentTest() : w(*tensor_bytes(DType::q4_0, kN, kK)), x(kM * kK) {
    EXPECT_TRUE(fill_weights(DType::q4_0, kN, kK, 1, w));
    fill_gaussian({x.data(), kM, kK}, 2);
    for (std::size_t i = 0; i < 64; ++i) x[i] *= 1e-38f;  // subnormal products
  }

  std::vector<float> product(Executor* executor, Compute compute) {
    Context context{.registry = &registry, .executor = executor, .caches = nullptr, .workspace = {}};
    Output y(kM, kN);
    const Status s = matmul({DType::q4_0, kN, kK, w.data(), w.size(), 0}, {x.data(), kM, kK}, y.view(), context,
                            {.compute = compute});
    EXPECT_TRUE(s) << s.message();
    return y.values();
  }

  static constexpr std::size_t kM = 20, kN = 300, kK = 256;
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  std::vector<std::byte> w;
  std::vector<float> x;
};

TEST_F(FpEnvironmentTest, TheCallersIsRestoredAndChangesNothing) {
  for (const Compute compute : {Compute::f32, Compute::int8}) {
    const std::vector<float> want = product(nullptr, compute);
    std::vector<float> got;
    bool restored = false;
    std::thread([&] {
      spoil();
      std::feclearexcept(FE_ALL_EXCEPT);
      const unsigned long before = environment();
      got = product(nullptr, compute);
      restored = environment() == before;
    }).join();
    EXPECT_TRUE(restored);
    EXPECT_TRUE(same_bits(got, want)) << to_string(compute);
  }
}

TEST_F(FpEnvironmentTest, AnEnginesWorkersKeepTheirs) {
  struct Seen {
    std::atomic<int> tasks{0}, changed{0};
  } seen;
  ThreadsExecutor executor(
      4,
      [](void* user, void (*run)(void*), void* arg) {
        auto& s = *static_cast<Seen*>(user);
        spoil();
        std::feclearexcept(FE_ALL_EXCEPT);
        const unsigned long before = environment();
        run(arg);
        ++s.tasks;
        if (environment() != before) ++s.changed;
      },
      &seen);
  for (const Compute compute : {Compute::f32, Compute::int8}) {
    EXPECT_TRUE(same_bits(product(&executor, compute), product(nullptr, compute)));
  }
  EXPECT_GE(seen.tasks, 8);
  EXPECT_EQ(seen.changed, 0);
}

/// Runs f(0) .. f(n - 1) on the pool, each on a thread of its own: nobody returns before all have begun.
template <class F>
void on_each_thread(ThreadPool& pool, const F& f) {
  const std::size_t n = pool.concurrency();
  struct Job {
    const F& f;
    std::size_t n;
    std::atomic<std::size_t> begun{0};
  } job{f, n};
  pool.parallel_for(n, {[](void* arg, std::size_t) noexcept {
                          Job& j = *static_cast<Job*>(arg);
                          j.begun.fetch_add(1);
                          while (j.begun.load() < j.n) std::this_thread::yield();
                          j.f();
                        },
                        &job});
}

TEST_F(FpEnvironmentTest, PoolWorkersKeepTheirs) {
  ThreadPool pool(3);
  const std::vector<float> want = product(nullptr, Compute::int8);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> spoiled{0}, kept{0};
  static thread_local unsigned long before;
  on_each_thread(pool, [&] {
    if (std::this_thread::get_id() == caller) return;
    spoil();
    before = environment();
    ++spoiled;
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(same_bits(product(&pool, Compute::int8), want));
  on_each_thread(pool, [&] {
    if (std::this_thread::get_id() != caller && environment() == before) ++kept;
  });
  EXPECT_EQ(spoiled, static_cast<int>(pool.concurrency()) - 1);
  EXPECT_EQ(kept, spoiled);
}

}  // namespace
}  // namespace nibblas::test
