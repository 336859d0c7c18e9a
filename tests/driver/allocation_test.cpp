// SPDX-License-Identifier: Apache-2.0
// Replaces operator new of the whole binary: a second call of the same shape allocates nothing, and an allocation that
// fails anywhere is a status.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "driver/exact_problem.hpp"
#include "nibblas/matmul.hpp"

namespace {

std::atomic<long> g_allocations{0};
std::atomic<long> g_until_failure{-1};  // allocations that still succeed; negative: all

bool granted() noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (g_until_failure.load(std::memory_order_relaxed) < 0) return true;
  return g_until_failure.fetch_sub(1, std::memory_order_relaxed) > 0 || (g_until_failure.store(0), false);
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (!granted()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* or_throw(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t n) { return or_throw(allocate(n, 1)); }
void* operator new[](std::size_t n) { return or_throw(allocate(n, 1)); }
void* operator new(std::size_t n, std::align_val_t a) { return or_throw(allocate(n, static_cast<std::size_t>(a))); }
void* operator new[](std::size_t n, std::align_val_t a) { return or_throw(allocate(n, static_cast<std::size_t>(a))); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace nibblas::test {
namespace {

template <class F>
long allocations(const F& f) {
  const long before = g_allocations;
  f();
  return g_allocations - before;
}

/// f() with only `n` allocations granted. It must not return what copying would have to allocate.
template <class F>
auto starved(long n, const F& f) {
  g_until_failure = n;
  auto result = f();
  g_until_failure = -1;
  return result;
}

class Allocation : public testing::Test {
 protected:
  Context fresh(Executor* executor = nullptr) {
    return {.registry = &registry, .executor = executor, .caches = nullptr, .workspace = {}};
  }
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
};

TEST_F(Allocation, TheCounterCounts) {
  EXPECT_EQ(allocations([] { Buffer buffer(100); }), 1);
  EXPECT_EQ(allocations([] { Buffer buffer(8 << 20); }), 1);
  EXPECT_EQ(allocations([] { delete new int(1); }), 1);
  EXPECT_EQ(starved(0, [] { return Buffer(100).data() == nullptr; }), true);
  EXPECT_EQ(starved(1, [] { return Buffer(100).data() == nullptr; }), false);
}

TEST_F(Allocation, NoneInASecondCallOfTheSameShape) {
  ThreadPool pool(3);
  for (const ExactCase& c : kExactCases) {
    for (const std::size_t M : {1u, 3u, 50u}) {
      const ExactProblem p(c.dtype, M, 300, c.block == 1 ? 131 : 256);
      for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&pool)}) {
        Context context = fresh(executor);
        const MatmulOptions options{.compute = c.compute, .provider = M == 3 ? "scalar" : ""};
        const PackedWeights packed = PackedWeights::pack(p.view(), context, {.compute = c.compute}).value();
        Activations X;
        Output y(M, 300);
        bool ok = true;
        const auto calls = [&] {
          ok = matmul(p.view(), p.rows(), y.view(), context, options).ok() && ok;
          ok = matmul(packed, p.rows(), y.view(), context, options).ok() && ok;
          ok = prepare(p.rows(), c.compute, X, context).ok() && ok;
          ok = matmul(p.view(), X, y.view(), context, options).ok() && ok;
          ok = matmul(packed, X, y.view(), context, options).ok() && ok;
          ok = workspace_size(packed, M, context, options).ok() && ok;
          if (M == 1) ok = gemv(packed, p.x, {y.data(), 300}, context, options).ok() && ok;
        };
        EXPECT_GT(allocations(calls), 0);
        EXPECT_EQ(allocations(calls), 0) << to_string(c.dtype) << " " << to_string(c.compute) << " M=" << M;
        EXPECT_TRUE(ok);
        EXPECT_EQ(y.difference(p.want), "");
      }
    }
  }
}

TEST_F(Allocation, SmallerCallsFitIntoTheScratchOfTheLargest) {
  Context context = fresh();
  const ExactProblem large(DType::f32, 50, 300, 515);
  Output y(50, 300);
  ASSERT_TRUE(matmul(large.view(), large.rows(), y.view(), context));
  const ExactProblem small(DType::f32, 2, 20, 64);
  Output z(2, 20);
  bool ok = false;
  EXPECT_EQ(allocations([&] { ok = matmul(small.view(), small.rows(), z.view(), context).ok(); }), 0);
  EXPECT_TRUE(ok);
}

TEST_F(Allocation, AnyOneThatFailsIsAStatus) {
  const ExactProblem p(DType::q8_0, 50, 300, 512);
  Context packing = fresh();
  const PackedWeights packed = PackedWeights::pack(p.view(), packing).value();
  for (const long n : {0L, 1L, 2L}) {
    Context context = fresh();
    Output y(50, 300);
    const StatusCode expected = n == 0 ? StatusCode::out_of_memory : StatusCode::ok;
    EXPECT_EQ(starved(n, [&] { return matmul(packed, p.rows(), y.view(), context).code(); }), expected);
    EXPECT_EQ(y.untouched(), n == 0);
    EXPECT_TRUE(matmul(packed, p.rows(), y.view(), context)) << "the context is as good as before";

    EXPECT_EQ(starved(n, [&] { return PackedWeights::pack(p.view(), context).status().code(); }), expected);

    Activations X;
    EXPECT_EQ(starved(n, [&] { return prepare(p.rows(), Compute::int8, X, context).code(); }), expected);
  }
}

/// A status keeps its code when there is no memory for its message.
TEST_F(Allocation, ErrorsWithoutMemoryForTheirMessage) {
  const ExactProblem p(DType::q4_0, 3, 20, 64);
  Context context = fresh();
  const PackedWeights packed = PackedWeights::pack(p.view(), context).value();
  alignas(64) std::byte image[65] = {};
  Output y(3, 20);
  const WeightView W = p.view();
  WeightView bad = W;
  bad.data = nullptr;
  const MatmulOptions token{.compute = Compute::int8_token};
  const MatmulOptions nobody{.provider = "a provider whose name is too long for the small string optimisation"};
  Context tiny = fresh();
  tiny.workspace = Workspace(std::span<std::byte>(image, 64));
  for (long n = 0; n < 50; ++n) {
    EXPECT_EQ(starved(n,
                      [&] {
                        return matmul(W, {p.x.data(), 3, 63, 64}, y.view(), context).code();
                      }),
              StatusCode::shape_mismatch);
    EXPECT_EQ(starved(n,
                      [&] {
                        return matmul(W, {nullptr, 3, 64}, y.view(), context).code();
                      }),
              StatusCode::invalid_argument);
    EXPECT_EQ(starved(n, [&] { return matmul(bad, p.rows(), y.view(), context).code(); }),
              StatusCode::invalid_argument);
    EXPECT_EQ(starved(n, [&] { return matmul(PackedWeights{}, p.rows(), y.view(), context).code(); }),
              StatusCode::invalid_argument);
    EXPECT_EQ(starved(n,
                      [&] {
                        return PackedWeights::from_bytes({image, 65}).status().code();
                      }),
              StatusCode::invalid_data);
    EXPECT_EQ(starved(n, [&] { return packed_bytes(DType::q4_0, 1, 33).status().code(); }), StatusCode::shape_mismatch);
    EXPECT_EQ(starved(n, [&] { return workspace_size(W, SIZE_MAX, context).status().code(); }),
              StatusCode::shape_mismatch);
    EXPECT_EQ(starved(n, [&] { return matmul(W, p.rows(), y.view(), tiny).code(); }), StatusCode::buffer_too_small);
    Activations X;
    EXPECT_EQ(starved(n, [&] { return prepare(p.rows(), Compute::automatic, X, context).code(); }),
              StatusCode::invalid_argument);
    // What the registry has to say may be lost to the lack of memory, but it is an error still.
    EXPECT_NE(starved(n, [&] { return matmul(W, p.rows(), y.view(), context, token).code(); }), StatusCode::ok);
    EXPECT_NE(starved(n, [&] { return matmul(W, p.rows(), y.view(), context, nobody).code(); }), StatusCode::ok);
    starved(n, [&] { return explain(W, 1, context).size(); });
    starved(n, [&] { return explain(bad, 1, context).size(); });
    EXPECT_TRUE(y.untouched());
  }
}

}  // namespace
}  // namespace nibblas::test
