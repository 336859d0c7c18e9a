// SPDX-License-Identifier: Apache-2.0
// Sizes that no memory has: refused before anything is counted, allocated or read. The operands are address space that
// faults on any access.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <vector>

#include "driver.hpp"
#include "driver/exact_problem.hpp"
#include "nibblas/batched.hpp"
#include "nibblas/formats.hpp"
#include "support/guarded_buffer.hpp"
#include "tiling.hpp"

namespace nibblas::test {
namespace {

/// Addresses without memory.
class Nowhere {
 public:
  explicit Nowhere(std::size_t bytes)
      : bytes_(bytes), base_(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  Nowhere(const Nowhere&) = delete;
  Nowhere& operator=(const Nowhere&) = delete;
  ~Nowhere() {
    if (ok()) ::munmap(base_, bytes_);
  }
  bool ok() const { return base_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(base_); }
  float* floats() const { return static_cast<float*>(base_); }

 private:
  std::size_t bytes_;
  void* base_;
};

class Sizes : public testing::Test {
 protected:
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
};

TEST_F(Sizes, AHugeStackIsRefusedWithoutWalkingIt) {
  constexpr std::size_t count = std::size_t{1} << 32;
  const Nowhere y(count * sizeof(float));
  if (!y.ok()) GTEST_SKIP() << "no address space";
  const ExactProblem p(DType::q4_0, 1, 1, 32);
  MatmulStack stack;
  stack.count = count;
  stack.W = p.view();
  stack.X = p.rows();
  stack.Y = {y.floats(), 1, 1};
  stack.y_stride = 1;
  GuardedBuffer memory(64, Flush::front);
  context.workspace = Workspace(memory.bytes());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(matmul_batched(stack, context).code(), StatusCode::buffer_too_small);
  EXPECT_TRUE(workspace_size(stack, context));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 1.0);  // microseconds; 10 ns a product would be 40 s
}

TEST_F(Sizes, ActivationsOfAStackThatWouldWrap) {
  // X_i of 2^32 elements in int8 takes 3 * 2^31 bytes, and 2^33 of those are 3 * 2^64.
  constexpr std::size_t count = std::size_t{1} << 33, K = std::size_t{1} << 32;
  const std::size_t w_bytes = *tensor_bytes(DType::q8_0, 1, K);
  const Nowhere x((K + count) * sizeof(float)), y(count * sizeof(float)), w(w_bytes);
  if (!x.ok() || !y.ok() || !w.ok()) GTEST_SKIP() << "no address space";
  MatmulStack stack;
  stack.count = count;
  stack.W = {DType::q8_0, 1, K, w.data(), w_bytes, 0};
  stack.X = {x.floats(), 1, K};
  stack.x_stride = 1;
  stack.Y = {y.floats(), 1, 1};
  stack.y_stride = 1;
  EXPECT_EQ(workspace_size(stack, context).status().code(), StatusCode::shape_mismatch);
  const Status s = matmul_batched(stack, context);
  EXPECT_EQ(s.code(), StatusCode::shape_mismatch);
  EXPECT_NE(s.message().find("workspace overflows"), std::string::npos) << s.message();
}

TEST_F(Sizes, ActivationsSaturate) {
  for (const Compute c : {Compute::f32, Compute::int8, Compute::int8_token}) {
    for (const std::size_t huge : {SIZE_MAX, SIZE_MAX / 2 + 1, std::size_t{1} << 62, std::size_t{1} << 57}) {
      EXPECT_EQ(Activations::bytes(c, 1, huge), SIZE_MAX) << huge;
      EXPECT_EQ(Activations::bytes(c, huge, 1), SIZE_MAX) << huge;
      EXPECT_EQ(Activations::bytes(c, huge, huge), SIZE_MAX) << huge;
      EXPECT_EQ(Activations::bytes(c, 0, huge), 0u);
      EXPECT_EQ(Activations::bytes(c, huge, 0), 0u);
    }
    // The largest that are not refused are counted right: more bytes than the codes alone.
    const std::size_t least = c == Compute::f32 ? 4 : 1;
    EXPECT_GT(Activations::bytes(c, 1, std::size_t{1} << 56), least << 56);
    EXPECT_GT(Activations::bytes(c, std::size_t{1} << 56, 1), least << 56);
    EXPECT_LT(Activations::bytes(c, std::size_t{1} << 56, 1), SIZE_MAX);
  }
}

TEST_F(Sizes, PlansOfAnySizeSaturate) {
  TileInput in;
  in.N = 1 << 20;
  in.K = 1 << 20;
  in.weights = DType::f32;
  in.state_floats = 1024;
  in.M = std::size_t{24} << 45;  // the sums of all tiles for one panel are 3 * 2^64 bytes
  const TilePlan p = plan(in);
  EXPECT_GE(p.row_block, 1u);
  EXPECT_GE(p.tile_group, 1u);
  in.M = 1;
  in.zero_copy = true;
  in.K = std::size_t{1} << 56;
  in.force.row_block = 1;
  EXPECT_GE(worker_scratch(in, plan(in)).total(), std::size_t{64});
  WorkerScratch s;
  s.packed = SIZE_MAX;
  s.state = 64;
  EXPECT_EQ(s.total(), SIZE_MAX);
  TiledProduct product;
  product.scratch.packed = 64;
  product.workers = SIZE_MAX / 64 + 1;  // an executor may claim any number
  EXPECT_EQ(product.scratch_bytes(), SIZE_MAX);
}

/// Packed stacks have a plan of their own, and so a size of their own.
TEST_F(Sizes, WorkspaceOfAPackedStackIsExact) {
  ThreadPool pool(3);
  for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&pool)}) {
    context.executor = executor;
    bool differ = false;
    for (const ExactCase& c : kExactCases) {
      for (const std::size_t M : {1u, 18u, 50u}) {
        const std::size_t N = 100, K = c.block == 1 ? 131 : 256;
        std::vector<ExactProblem> problems;
        std::vector<PackedWeights> packed;
        std::vector<float> x;
        for (std::size_t i = 0; i < 3; ++i) {
          problems.emplace_back(c.dtype, M, N, K, i + 1);
          packed.push_back(PackedWeights::pack(problems[i].view(), context, {.compute = c.compute}).value());
          x.insert(x.end(), problems[i].x.begin(), problems[i].x.end());
        }
        Output y(3 * M, N);
        MatmulStack stack;
        stack.X = {x.data(), M, K};
        stack.x_stride = M * K;
        stack.Y = {y.data(), M, N};
        stack.y_stride = M * N;
        const Result<std::size_t> bytes = workspace_size(packed, stack, context, {.compute = c.compute});
        ASSERT_TRUE(bytes) << bytes.status().message();
        GuardedBuffer memory(*bytes);
        Context less{.registry = &registry, .executor = executor, .caches = nullptr, .workspace = {}};
        less.workspace = Workspace(memory.bytes().first(*bytes - 1));
        EXPECT_EQ(matmul_batched(packed, stack, less, {.compute = c.compute}).code(), StatusCode::buffer_too_small);
        EXPECT_TRUE(y.untouched());
        Context exact{.registry = &registry, .executor = executor, .caches = nullptr, .workspace = {}};
        exact.workspace = Workspace(memory.bytes());
        const Status s = matmul_batched(packed, stack, exact, {.compute = c.compute});
        ASSERT_TRUE(s) << s.message();
        EXPECT_TRUE(memory.surroundings_intact());
        std::vector<float> want;
        for (const ExactProblem& p : problems) want.insert(want.end(), p.want.begin(), p.want.end());
        EXPECT_EQ(y.difference(want), "") << to_string(c.dtype);
        stack.count = 3;
        stack.W = problems[0].view();
        differ = differ || *workspace_size(stack, context, {.compute = c.compute}) != *bytes;
      }
    }
    EXPECT_TRUE(differ) << "the sizes of views would do: this test shows nothing";
  }
  EXPECT_EQ(*workspace_size(std::span<const PackedWeights>(), {}, context), 0u);
}

}  // namespace
}  // namespace nibblas::test
