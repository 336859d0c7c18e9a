// SPDX-License-Identifier: Apache-2.0
// workspace_size() is enough, and nothing less is.
#include <gtest/gtest.h>

#include <string>

#include "driver/exact_problem.hpp"
#include "driver/executors.hpp"
#include "nibblas/matmul.hpp"
#include "support/guarded_buffer.hpp"

namespace nibblas::test {
namespace {

class WorkspaceTest : public testing::Test {
 protected:
  Context over(std::span<std::byte> memory, Executor* executor) {
    return {.registry = &registry, .executor = executor, .caches = nullptr, .workspace = Workspace(memory)};
  }

  template <class W>
  void check(const W& w, const ExactProblem& p, Executor* executor, const MatmulOptions& options) {
    Context asking = over({}, executor);
    const Result<std::size_t> bytes = workspace_size(w, p.M, asking, options);
    ASSERT_TRUE(bytes) << bytes.status().message();
    ASSERT_EQ(*bytes % 64, 0u);
    for (const Flush flush : {Flush::front, Flush::end}) {
      GuardedBuffer memory(*bytes, flush);
      Context exact = over(memory.bytes(), executor);
      Output y(p.M, p.N);
      const Status s = matmul(w, p.rows(), y.view(), exact, options);
      ASSERT_TRUE(s) << s.message();
      EXPECT_EQ(y.difference(p.want), "");
      EXPECT_TRUE(memory.surroundings_intact());
    }
    GuardedBuffer memory(*bytes);
    Context less = over(memory.bytes().first(*bytes - 1), executor);
    Output y(p.M, p.N);
    const Status s = matmul(w, p.rows(), y.view(), less, options);
    EXPECT_EQ(to_string(s.code()), to_string(StatusCode::buffer_too_small));
    EXPECT_NE(s.message().find(std::to_string(*bytes - 1)), std::string::npos) << s.message();
    EXPECT_NE(s.message().find(std::to_string(*bytes)), std::string::npos) << s.message();
    EXPECT_TRUE(y.untouched());
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
};

TEST_F(WorkspaceTest, ExactlyAsMuchAsAskedFor) {
  OrderExecutor three(3, OrderExecutor::Order::reverse);
  OrderExecutor many(64, OrderExecutor::Order::shuffled);
  for (const ExactCase& c : kExactCases) {
    for (const std::size_t M : {1u, 17u, 50u}) {
      for (const std::size_t N : {5u, 100u}) {
        const ExactProblem p(c.dtype, M, N, c.block == 1 ? 131 : 256);
        for (Executor* executor :
             {static_cast<Executor*>(nullptr), static_cast<Executor*>(&three), static_cast<Executor*>(&many)}) {
          for (const TileOverride& tiles : {TileOverride{}, TileOverride{3, 64, 2}, TileOverride{64, SIZE_MAX, 1}}) {
            SCOPED_TRACE(testing::Message() << to_string(c.dtype) << " " << to_string(c.compute) << " M=" << M
                                            << " N=" << N << " row_block=" << tiles.row_block);
            const MatmulOptions options{.compute = c.compute, .tiles = tiles};
            check(p.view(), p, executor, options);
            Context packing = over({}, nullptr);
            const Result<PackedWeights> packed = PackedWeights::pack(p.view(), packing, {.compute = c.compute});
            ASSERT_TRUE(packed);
            check(*packed, p, executor, options);
          }
        }
      }
    }
    if (HasFailure()) return;
  }
}

TEST_F(WorkspaceTest, ZeroSizesNeedNone) {
  const ExactProblem p(DType::q4_0, 3, 20, 64);
  Context context = over({}, nullptr);
  EXPECT_EQ(workspace_size(p.view(), 0, context).value(), 0u);
  EXPECT_EQ(workspace_size(WeightView{DType::q4_0, 0, 64}, 3, context).value(), 0u);
  EXPECT_EQ(workspace_size(WeightView{DType::q4_0, 20, 0}, 3, context).value(), 0u);
  Output y(0, 20);
  EXPECT_TRUE(matmul(p.view(), {nullptr, 0, 64}, y.view(), context));
}

TEST_F(WorkspaceTest, MisalignedMemoryIsSaidToBeThat) {
  const ExactProblem p(DType::q4_0, 3, 20, 64);
  GuardedBuffer memory(1 << 20, Flush::end, 32);
  Context context = over(memory.bytes(), nullptr);
  Output y(3, 20);
  const Status s = matmul(p.view(), p.rows(), y.view(), context);
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_NE(s.message().find("64-byte aligned"), std::string::npos) << s.message();
  EXPECT_TRUE(y.untouched());
}

TEST_F(WorkspaceTest, NullMemoryIsSaidToBeThat) {
  const ExactProblem p(DType::q4_0, 3, 20, 64);
  Context context = over({static_cast<std::byte*>(nullptr), 1 << 20}, nullptr);
  Output y(3, 20);
  const Status s = matmul(p.view(), p.rows(), y.view(), context);
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_EQ(s.message(), "workspace: 1048576 bytes at a null pointer");
  EXPECT_TRUE(y.untouched());
}

TEST_F(WorkspaceTest, PreparedActivationsTakeNoneOfIt) {
  const ExactProblem p(DType::q4_0, 40, 20, 64);
  Context context = over({}, nullptr);
  Activations X;
  ASSERT_TRUE(prepare(p.rows(), Compute::int8, X, context));
  const std::size_t bytes = workspace_size(p.view(), 40, context).value() - Activations::bytes(Compute::int8, 40, 64);
  GuardedBuffer memory(bytes);
  Context exact = over(memory.bytes(), nullptr);
  Output y(40, 20);
  ASSERT_TRUE(matmul(p.view(), X, y.view(), exact));
  EXPECT_EQ(y.difference(p.want), "");
}

}  // namespace
}  // namespace nibblas::test
