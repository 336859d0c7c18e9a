// SPDX-License-Identifier: Apache-2.0
// One X for several weights.
#include <gtest/gtest.h>

#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/matmul.hpp"
#include "support/fill.hpp"
#include "support/guarded_buffer.hpp"

namespace nibblas::test {
namespace {

class ActivationsTest : public testing::Test {
 protected:
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
};

TEST_F(ActivationsTest, QueriesKeysAndValuesShareX) {
  constexpr std::size_t K = 512, N = 40;
  ThreadPool pool(2);
  for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&pool)}) {
    context.executor = executor;
    for (const Compute compute : {Compute::f32, Compute::int8}) {
      for (const std::size_t M : {1u, 16u, 50u}) {
        std::vector<float> x(M * K);
        fill_gaussian_with_outliers({x.data(), M, K}, M);
        Activations X;
        ASSERT_TRUE(prepare({x.data(), M, K}, compute, X, context));
        for (const DType t : {DType::q4_k, DType::q6_k, DType::q8_0, DType::q4_0, DType::tq1_0}) {
          std::vector<std::byte> w(*tensor_bytes(t, N, K));
          ASSERT_TRUE(fill_weights(t, N, K, 3, w));
          const WeightView W{t, N, K, w.data(), w.size(), 0};
          const Result<PackedWeights> packed = PackedWeights::pack(W, context);
          ASSERT_TRUE(packed);
          Output own(M, N), shared(M, N), shared_packed(M, N);
          ASSERT_TRUE(matmul(W, {x.data(), M, K}, own.view(), context, {.compute = compute}));
          ASSERT_TRUE(matmul(W, X, shared.view(), context));
          ASSERT_TRUE(matmul(*packed, X, shared_packed.view(), context, {.compute = compute}));
          EXPECT_EQ(shared.difference(own.values()), "") << to_string(t) << " " << to_string(compute) << " M=" << M;
          EXPECT_EQ(shared_packed.difference(own.values()), "") << to_string(t) << " packed";
        }
      }
    }
  }
}

TEST_F(ActivationsTest, EveryProviderReadsWhatAnotherPrepared) {
  const ExactProblem p(DType::q8_0, 20, 33, 96);
  for (const KernelProvider* maker : registry.providers()) {
    if (!registry.usable(*maker).usable) continue;
    KernelRegistry only = KernelRegistry::builtin(host_cpu(), {std::string(maker->name()), {}, {}});
    Context making{.registry = &only, .executor = nullptr, .caches = nullptr, .workspace = {}};
    Activations X;
    ASSERT_TRUE(prepare(p.rows(), Compute::int8, X, making));
    for (const KernelProvider* reader : registry.providers()) {
      if (registry.select({.key = {Op::matmul, DType::q8_0, Compute::int8}, .provider = reader->name()}) == nullptr) {
        continue;
      }
      Output y(20, 33);
      ASSERT_TRUE(matmul(p.view(), X, y.view(), context, {.provider = reader->name()}));
      EXPECT_EQ(y.difference(p.want), "") << maker->name() << " -> " << reader->name();
    }
  }
}

TEST_F(ActivationsTest, TilesStartAtEvenTokensAndAreAboutEqual) {
  const std::vector<float> x(200 * 32, 1.0f);
  Activations X;
  for (const Compute compute : {Compute::f32, Compute::int8, Compute::int8_token}) {
    for (std::size_t M = 0; M <= 200; ++M) {
      ASSERT_TRUE(prepare({x.data(), M, 32}, compute, X, context));
      EXPECT_EQ(X.M(), M);
      EXPECT_EQ(X.K(), 32u);
      EXPECT_EQ(X.compute(), compute);
      EXPECT_EQ(X.first_token(0), 0u);
      EXPECT_EQ(X.first_token(X.tiles()), M);
      for (std::size_t i = 0; i < X.tiles(); ++i) {
        ASSERT_LE(X.tokens(i), tile_tokens(compute));
        ASSERT_LE(X.tokens(i), X.tokens(X.tiles() - 1) + 3);
        if (i > 0) {
          ASSERT_EQ(X.first_token(i) % 2, 0u);
          ASSERT_GT(X.first_token(i), X.first_token(i - 1));
        }
      }
    }
  }
}

TEST_F(ActivationsTest, MemoryIsUsedAgainForAnythingThatFits) {
  const std::vector<float> x(100 * 96, 1.0f);
  Activations X;
  ASSERT_TRUE(prepare({x.data(), 100, 96}, Compute::f32, X, context));
  const std::byte* memory = X.tile(0);
  for (const std::size_t M : {1u, 99u, 100u}) {
    for (const Compute compute : {Compute::f32, Compute::int8, Compute::int8_token}) {
      ASSERT_TRUE(prepare({x.data(), M, 96}, compute, X, context));
      EXPECT_EQ(X.tile(0), memory);
    }
  }
}

TEST_F(ActivationsTest, AFailedPrepareLeavesThemAsTheyWere) {
  const ExactProblem p(DType::q8_0, 5, 20, 64);
  Activations X;
  ASSERT_TRUE(prepare(p.rows(), Compute::int8, X, context));
  EXPECT_FALSE(prepare({nullptr, 5, 64}, Compute::f32, X, context));
  EXPECT_FALSE(prepare(p.rows(), Compute::automatic, X, context));
  Output y(5, 20);
  ASSERT_TRUE(matmul(p.view(), X, y.view(), context));
  EXPECT_EQ(y.difference(p.want), "");
}

TEST_F(ActivationsTest, MovedOnesServe) {
  const ExactProblem p(DType::q8_0, 40, 20, 64);
  Activations X;
  {
    Activations made;
    ASSERT_TRUE(prepare(p.rows(), Compute::int8, made, context));
    X = std::move(made);
    Output none(40, 20);
    EXPECT_EQ(made.M(), 0u);
    EXPECT_EQ(matmul(p.view(), made, none.view(), context).code(), StatusCode::shape_mismatch);
  }
  Output y(40, 20);
  ASSERT_TRUE(matmul(p.view(), X, y.view(), context));
  EXPECT_EQ(y.difference(p.want), "");
}

TEST_F(ActivationsTest, RowsOfXMayLieApartAtTheEndOfMemory) {
  const ExactProblem p(DType::q8_0, 19, 20, 64);
  constexpr std::size_t kStride = 64 + 4096;
  GuardedBuffer spread((18 * kStride + 64) * sizeof(float));
  for (std::size_t r = 0; r < 19; ++r) std::copy_n(&p.x[r * 64], 64, spread.as<float>() + r * kStride);
  spread.make_read_only();
  const ConstMatrixView X{spread.as<float>(), 19, 64, kStride};
  for (const Compute compute : {Compute::f32, Compute::int8}) {
    Output y(19, 20);
    ASSERT_TRUE(matmul(p.view(), X, y.view(), context, {.compute = compute}));
    EXPECT_EQ(y.difference(p.want), "");
  }
}

}  // namespace
}  // namespace nibblas::test
