// SPDX-License-Identifier: Apache-2.0
// Products with one possible answer, in every form of W and X: shapes around the tiles, strides, zero sizes, plans.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/matmul.hpp"
#include "support/guarded_buffer.hpp"

namespace nibblas::test {
namespace {

struct Form {
  bool packed;
  bool prepared;
};
constexpr Form kForms[] = {{false, false}, {false, true}, {true, false}, {true, true}};

class Shapes : public testing::Test {
 protected:
  Status run(const WeightView& w, Form form, ConstMatrixView x, MatrixView y, const MatmulOptions& options) {
    Activations prepared;
    if (form.prepared) {
      if (Status s = prepare(x, options.compute, prepared, context); !s) return s;
    }
    if (!form.packed)
      return form.prepared ? matmul(w, prepared, y, context, options) : matmul(w, x, y, context, options);
    const Result<PackedWeights> packed = PackedWeights::pack(w, context, options);
    if (!packed) return packed.status();
    return form.prepared ? matmul(*packed, prepared, y, context, options) : matmul(*packed, x, y, context, options);
  }

  void expect_exact(const ExactProblem& p, Form form, const MatmulOptions& options, std::size_t padding = 0) {
    Output y(p.M, p.N, padding);
    const Status s = run(p.view(), form, p.rows(), y.view(), options);
    ASSERT_TRUE(s) << s.message();
    EXPECT_EQ(y.difference(p.want), "") << to_string(p.dtype) << " " << to_string(options.compute) << " M=" << p.M
                                        << " N=" << p.N << " K=" << p.K << (form.packed ? " packed" : " zero-copy")
                                        << (form.prepared ? " prepared" : "");
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
};

TEST_F(Shapes, EveryFormatAndComputeAroundTheTiles) {
  constexpr std::size_t kM[] = {1, 2, 15, 16, 17, 23, 24, 25, 49, 64, 65};
  constexpr std::size_t kN[] = {1, 15, 16, 17, 33, 100};
  int products = 0;
  for (const ExactCase& c : kExactCases) {
    for (const std::size_t M : kM) {
      for (const std::size_t N : kN) {
        const std::size_t K = c.block * (1 + (M + N) % 3);
        const ExactProblem p(c.dtype, M, N, K, M * 1000 + N);
        for (const Form form : kForms) {
          expect_exact(p, form, {.compute = c.compute}, N % 3);
          ++products;
        }
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_EQ(products, 13 * 11 * 6 * 4);
}

TEST_F(Shapes, LongK) {
  for (const ExactCase& c : kExactCases) {
    const std::size_t K = c.block == 1 ? 2085 : c.block * (2304 / c.block);
    for (const std::size_t M : {1u, 5u, 33u}) {
      const ExactProblem p(c.dtype, M, 37, K);
      for (const Form form : kForms) expect_exact(p, form, {.compute = c.compute});
    }
  }
}

TEST_F(Shapes, ManyPanelsAndManyTiles) {
  for (const ExactCase& c : {ExactCase{DType::f32, Compute::f32, 1}, ExactCase{DType::q8_0, Compute::int8, 32}}) {
    for (const std::size_t M : {1u, 200u}) {
      const ExactProblem p(c.dtype, M, 16 * 70 + 5, 96);
      for (const Form form : kForms) expect_exact(p, form, {.compute = c.compute});
    }
  }
}

TEST_F(Shapes, AnyTilePlanHasTheSameAnswer) {
  constexpr std::size_t kSome[] = {0, 1, 2, 3, 64, SIZE_MAX};
  const ExactProblem few(DType::q4_0, 1, 150, 256);
  const ExactProblem many(DType::q4_0, 50, 150, 256);
  for (const std::size_t rows : kSome) {
    for (const std::size_t k : {0u, 1u, 32u, 100u, 1u << 30}) {
      for (const std::size_t splits : kSome) {
        const MatmulOptions options{.compute = Compute::int8, .tiles = {rows, k, splits}};
        for (const Form form : kForms) {
          expect_exact(few, form, options);
          expect_exact(many, form, options);
        }
        ASSERT_FALSE(HasFailure()) << "row_block " << rows << ", k_chunk " << k << ", m_splits " << splits;
      }
    }
  }
}

TEST_F(Shapes, AnyCacheSizeHasTheSameAnswer) {
  const ExactProblem p(DType::f32, 50, 150, 300);
  for (const std::size_t l1 : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 30, SIZE_MAX}) {
    for (const std::size_t l2 : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 30, SIZE_MAX}) {
      const CacheInfo caches{l1, l2, l1};
      context.caches = &caches;
      for (const Form form : kForms) expect_exact(p, form, {.compute = Compute::f32});
    }
  }
}

TEST_F(Shapes, ZeroSizesNeedNoMemory) {
  for (const ExactCase& c : kExactCases) {
    for (int zeros = 1; zeros < 8; ++zeros) {
      const std::size_t M = (zeros & 1) != 0 ? 0 : 3;
      const std::size_t N = (zeros & 2) != 0 ? 0 : 20;
      const std::size_t K = (zeros & 4) != 0 ? 0 : c.block;
      const WeightView w{c.dtype, N, K, nullptr, 0, 0};
      const std::vector<std::byte> zeroed(c.dtype == DType::bitnet_b158 ? N * K / 4 + 5 : N * K * 4 + 1);
      const WeightView real{c.dtype, N, K, zeroed.data(), zeroed.size(), 0};
      const std::vector<float> x(M * K, 1.0f);
      for (const Form form : kForms) {
        Output y(M, N, 2);
        const bool no_weights = N == 0 || K == 0;
        const Status s = run(no_weights ? w : real, form, {M * K == 0 ? nullptr : x.data(), M, K},
                             {M * N == 0 ? nullptr : y.data(), M, N, N + 2}, {.compute = c.compute});
        ASSERT_TRUE(s) << to_string(c.dtype) << " " << M << " x " << N << " x " << K << ": " << s.message();
        if (K == 0) {
          EXPECT_EQ(y.difference(std::vector<float>(M * N, 0.0f)), "");
        }
      }
    }
  }
}

TEST_F(Shapes, GemvIsMatmulOfOneRow) {
  for (const ExactCase& c : kExactCases) {
    const ExactProblem p(c.dtype, 1, 50, c.block * 2);
    const MatmulOptions options{.compute = c.compute};
    Output y(1, 50);
    ASSERT_TRUE(gemv(p.view(), p.x, {y.data(), 50}, context, options));
    EXPECT_EQ(y.difference(p.want), "");
    const Result<PackedWeights> packed = PackedWeights::pack(p.view(), context);
    ASSERT_TRUE(packed);
    Output z(1, 50);
    ASSERT_TRUE(gemv(*packed, p.x, {z.data(), 50}, context, options));
    EXPECT_EQ(z.difference(p.want), "");
  }
}

TEST_F(Shapes, RowsOfWMayLieApartAtAnyAddress) {
  const ExactProblem p(DType::q8_0, 3, 20, 64);
  constexpr std::size_t kRow = 68, kStride = 77;
  for (const std::size_t offset : {0u, 1u, 2u, 3u, 63u}) {
    GuardedBuffer spread(19 * kStride + kRow, Flush::end, offset);
    for (std::size_t r = 0; r < 20; ++r) std::memcpy(spread.data() + r * kStride, p.w.data() + r * kRow, kRow);
    const WeightView w{DType::q8_0, 20, 64, spread.data(), spread.size(), kStride};
    for (const Form form : kForms) {
      Output y(3, 20);
      ASSERT_TRUE(run(w, form, p.rows(), y.view(), {.compute = Compute::int8}));
      EXPECT_EQ(y.difference(p.want), "") << "offset " << offset;
    }
  }
}

/// [tokens][heads][size] read and written in place, a product a head.
TEST_F(Shapes, InterleavedHeadsAreStridedViews) {
  constexpr std::size_t kTokens = 19, kHeads = 3, kSize = 64, kOut = 24;
  std::vector<ExactProblem> head;
  std::vector<float> x(kTokens * kHeads * kSize);
  std::vector<float> want(kTokens * kHeads * kOut);
  for (std::size_t h = 0; h < kHeads; ++h) {
    const ExactProblem& p = head.emplace_back(DType::q8_0, kTokens, kOut, kSize, h + 1);
    for (std::size_t t = 0; t < kTokens; ++t) {
      std::copy_n(&p.x[t * kSize], kSize, &x[(t * kHeads + h) * kSize]);
      std::copy_n(&p.want[t * kOut], kOut, &want[(t * kHeads + h) * kOut]);
    }
  }
  for (const Form form : kForms) {
    Output y(kTokens, kHeads * kOut);
    for (std::size_t h = 0; h < kHeads; ++h) {
      const Status s = run(head[h].view(), form, {x.data() + h * kSize, kTokens, kSize, kHeads * kSize},
                           {y.data() + h * kOut, kTokens, kOut, kHeads * kOut}, {.compute = Compute::int8});
      ASSERT_TRUE(s) << s.message();
    }
    EXPECT_EQ(y.difference(want), "");
  }
}

TEST_F(Shapes, AContextNeedsNothing) {
  Context plain;
  const ExactProblem p(DType::q4_0, 2, 20, 64);
  Output y(2, 20);
  const Status s = matmul(p.view(), p.rows(), y.view(), plain);
  ASSERT_TRUE(s) << s.message();
  EXPECT_EQ(y.difference(p.want), "");
  EXPECT_EQ(KernelRegistry::shared().select({.key = {Op::matmul, DType::q4_0, Compute::int8}}) != nullptr, true);
}

}  // namespace
}  // namespace nibblas::test
