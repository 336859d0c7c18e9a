// SPDX-License-Identifier: Apache-2.0
// Operands that share memory are refused before anything is written; whatever lies apart, however closely, is served.
#include "overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/batched.hpp"
#include "support/bits.hpp"
#include "support/fill.hpp"

namespace nibblas::test {
namespace {

std::set<std::uintptr_t> bytes_of(const Runs& r) {
  std::set<std::uintptr_t> bytes;
  for (std::size_t o = 0; o < r.outer.count; ++o) {
    for (std::size_t i = 0; i < r.inner.count; ++i) {
      for (std::size_t b = 0; b < r.width; ++b) bytes.insert(r.begin + o * r.outer.stride + i * r.inner.stride + b);
    }
  }
  return bytes;
}

TEST(Overlap, AgreesWithTheSetsOfBytes) {
  Random random(11);
  const auto runs = [&] {
    Runs r{1000 + random.below(120), random.below(6), {random.below(24), random.below(6)}, {random.below(80), 1}};
    if (random.below(2) != 0) r.outer.count = random.below(5);
    return r;
  };
  int meeting = 0;
  for (int i = 0; i < 40000; ++i) {
    const Runs a = runs();
    Runs b = runs();
    if (random.below(3) == 0) b.inner.stride = a.inner.stride;
    if (random.below(3) == 0) b.outer.stride = a.outer.stride;
    const std::set<std::uintptr_t> x = bytes_of(a);
    const std::set<std::uintptr_t> y = bytes_of(b);
    const bool want = std::any_of(x.begin(), x.end(), [&](std::uintptr_t byte) { return y.contains(byte); });
    meeting += want;
    ASSERT_EQ(meet(a, b), want) << i;
    ASSERT_EQ(meet(b, a), want) << i;
  }
  EXPECT_GT(meeting, 3000);
  EXPECT_LT(meeting, 35000);
}

TEST(Overlap, HugeOnesAreDecidedAtOnce) {
  const std::size_t rows = std::size_t{1} << 40;
  const Runs a{1 << 20, 64, {128, rows}, {}};
  EXPECT_FALSE(meet(a, {(1 << 20) + 64, 64, {128, rows}, {}}));
  EXPECT_TRUE(meet(a, {(1 << 20) + 63, 64, {128, rows}, {}}));
  const Runs heads{1 << 20, 64, {128 * 32, rows}, {128, 32}};
  EXPECT_FALSE(meet(heads, {(1 << 20) + 64, 64, {128 * 32, rows}, {128, 32}}));
  EXPECT_TRUE(meet(heads, {(1 << 20) + 65, 64, {128 * 32, rows}, {128, 32}}));
  EXPECT_FALSE(meet({0, SIZE_MAX, {SIZE_MAX, SIZE_MAX}, {}}, a)) << "no memory is that large";
}

class SharedMemory : public testing::Test {
 protected:
  void refused(const Status& s, const std::string& message) {
    EXPECT_EQ(to_string(s.code()), to_string(StatusCode::invalid_argument));
    EXPECT_EQ(s.message(), message);
  }
  Context over(std::span<std::byte> memory) {
    return {.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = Workspace(memory)};
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
  ExactProblem p{DType::f32, 3, 20, 64};
};

TEST_F(SharedMemory, YWithX) {
  std::vector<float> x = p.x;
  x.resize(x.size() + 60);
  const std::vector<float> before = x;
  const ConstMatrixView X{x.data(), 3, 64};
  for (const std::size_t at : {0u, 1u, 64u, 3u * 64 - 1}) {
    refused(matmul(p.view(), X, {x.data() + at, 3, 20}, context), "Y shares memory with X");
    EXPECT_EQ(x, before);
  }
  const Status s = matmul(p.view(), X, {x.data() + 3 * 64, 3, 20}, context);
  EXPECT_TRUE(s) << s.message();
  EXPECT_TRUE(std::equal(p.want.begin(), p.want.end(), x.begin() + 3 * 64));
  refused(gemv(p.view(), {x.data(), 64}, {x.data() + 63, 20}, context), "Y shares memory with X");
}

TEST_F(SharedMemory, YWithXThatIsPrepared) {
  Activations X;
  ASSERT_TRUE(prepare(p.rows(), Compute::f32, X, context));
  auto* inside = reinterpret_cast<float*>(const_cast<std::byte*>(X.tile(0)));
  refused(matmul(p.view(), X, {inside + 1, 3, 20}, context), "Y shares memory with X");
}

TEST_F(SharedMemory, YWithW) {
  std::vector<float> w(20 * 64 + 60);
  std::copy(p.w.begin(), p.w.end(), reinterpret_cast<std::byte*>(w.data()));
  const std::vector<float> before = w;
  WeightView W = p.view();
  W.data = reinterpret_cast<const std::byte*>(w.data());
  refused(matmul(W, p.rows(), {w.data() + 20 * 64 - 1, 3, 20}, context), "Y shares memory with W");
  EXPECT_EQ(w, before);
  EXPECT_TRUE(matmul(W, p.rows(), {w.data() + 20 * 64, 3, 20}, context));
  Result<PackedWeights> packed = PackedWeights::pack(p.view(), context);
  ASSERT_TRUE(packed);
  auto* inside = reinterpret_cast<float*>(const_cast<std::byte*>(packed->data()));
  refused(matmul(*packed, p.rows(), {inside + 32 * 64 - 60, 3, 20}, context), "Y shares memory with W");
}

TEST_F(SharedMemory, WorkspaceWithEachOperand) {
  Buffer memory(1 << 16);
  auto* floats = reinterpret_cast<float*>(memory.data());
  std::copy(p.x.begin(), p.x.end(), floats);
  std::copy(p.w.begin(), p.w.end(), memory.data() + 4096);
  Context shared = over({memory.data(), memory.size()});
  Output y(3, 20);
  refused(matmul(p.view(), {floats, 3, 64}, y.view(), shared), "the workspace shares memory with X");
  WeightView W = p.view();
  W.data = memory.data() + 4096;
  refused(matmul(W, p.rows(), y.view(), shared), "the workspace shares memory with W");
  EXPECT_TRUE(y.untouched());
  refused(matmul(p.view(), p.rows(), {floats + (1 << 14) - 60, 3, 20}, shared), "the workspace shares memory with Y");
  EXPECT_TRUE(std::equal(p.x.begin(), p.x.end(), floats));
  // A workspace that grew holds what it grew to.
  ASSERT_TRUE(matmul(p.view(), p.rows(), y.view(), context));
  auto* own = reinterpret_cast<float*>(context.workspace.reserve(0));
  refused(matmul(p.view(), p.rows(), {own, 3, 20}, context), "the workspace shares memory with Y");
}

TEST_F(SharedMemory, ColumnsOfOneMatrixAreApart) {
  constexpr std::size_t stride = 64 + 20;
  std::vector<float> rows(3 * stride);
  for (std::size_t m = 0; m < 3; ++m) std::copy_n(p.x.data() + m * 64, 64, rows.data() + m * stride);
  const Status s = matmul(p.view(), {rows.data(), 3, 64, stride}, {rows.data() + 64, 3, 20, stride}, context);
  ASSERT_TRUE(s) << s.message();
  for (std::size_t m = 0; m < 3; ++m) {
    EXPECT_TRUE(std::equal(rows.data() + m * stride + 64, rows.data() + (m + 1) * stride, p.want.data() + m * 20));
  }
  refused(matmul(p.view(), {rows.data(), 3, 64, stride}, {rows.data() + 63, 3, 20, stride}, context),
          "Y shares memory with X");
}

TEST_F(SharedMemory, HeadsOfAStack) {
  // One row of memory a token: for each head its X, then its Y.
  constexpr std::size_t kHeads = 5, M = 3, N = 20, K = 64, kHead = K + N, kStride = kHeads * kHead;
  std::vector<float> memory(M * kStride);
  for (std::size_t m = 0; m < M; ++m) {
    for (std::size_t h = 0; h < kHeads; ++h) std::copy_n(p.x.data() + m * K, K, &memory[m * kStride + h * kHead]);
  }
  const std::vector<float> before = memory;
  MatmulStack stack;
  stack.count = kHeads;
  stack.W = p.view();
  stack.X = {memory.data(), M, K, kStride};
  stack.x_stride = kHead;
  stack.Y = {memory.data() + K, M, N, kStride};
  stack.y_stride = kHead;
  const std::vector<PackedWeights> packed = [&] {
    std::vector<PackedWeights> all;
    for (std::size_t h = 0; h < kHeads; ++h) all.push_back(PackedWeights::pack(p.view(), context).value());
    return all;
  }();
  for (const bool views : {true, false}) {
    std::ranges::copy(before, memory.begin());
    const Status s = views ? matmul_batched(stack, context) : matmul_batched(packed, stack, context);
    ASSERT_TRUE(s) << s.message();
    for (std::size_t m = 0; m < M; ++m) {
      for (std::size_t h = 0; h < kHeads; ++h) {
        const float* y = &memory[m * kStride + h * kHead + K];
        EXPECT_TRUE(std::equal(y, y + N, &p.want[m * N]));
      }
    }
    std::ranges::copy(before, memory.begin());
    MatmulStack bad = stack;
    bad.Y.data -= 1;  // the last element of X_i
    refused(views ? matmul_batched(bad, context) : matmul_batched(packed, bad, context), "Y shares memory with X");
    bad = stack;
    bad.x_stride = 0;
    bad.X.data += 1;  // into Y_0 alone
    refused(views ? matmul_batched(bad, context) : matmul_batched(packed, bad, context), "Y shares memory with X");
    bad.X.data = stack.Y.data + kHead;  // into Y_1 alone
    refused(views ? matmul_batched(bad, context) : matmul_batched(packed, bad, context), "Y shares memory with X");
    EXPECT_EQ(memory, before);
  }
  std::vector<float> x(3 * K);
  MatmulStack second = stack;
  second.count = 2;
  second.X = {x.data(), 1, K};
  second.x_stride = 2 * K;
  second.Y = {x.data() + 2 * K, 1, N};  // X_1 alone
  second.y_stride = N;
  refused(matmul_batched(second, context), "Y shares memory with X");
  std::vector<float> w(2 * N * K);
  stack.count = 2;
  stack.W.data = reinterpret_cast<const std::byte*>(w.data());
  stack.w_stride = N * K * sizeof(float);
  stack.Y = {w.data() + 2 * N * K - N, 1, N};  // the last row of W_1
  stack.X.rows = 1;
  stack.y_stride = N;
  refused(matmul_batched(stack, context), "Y shares memory with W");
  auto* inside = reinterpret_cast<float*>(const_cast<std::byte*>(packed[1].data()));
  stack.Y.data = inside;
  refused(matmul_batched(std::span(packed).first(2), stack, context), "Y shares memory with W");
}

}  // namespace
}  // namespace nibblas::test
