// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "parity/product.hpp"

// Every shape up to a few tiles and panels; and each row of X by itself.

namespace nibblas::test {
namespace {

class Shapes : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override { context_.registry = &registry(); }

  void check(const PackedWeights& w, const Reference& ref, std::size_t m0, std::size_t M) {
    Matrix y(M, w.N());
    const Status s = matmul(w, ref.x.part(m0, M, 0, w.K()), y.view(), context_, options_for(GetParam()));
    ASSERT_TRUE(s) << s.message();
    ASSERT_TRUE(matches(ref.y.part(m0, M, 0, w.N()), y.view()))
        << "rows " << m0 << " .. " << m0 + M << ", N = " << w.N();
    ++ran_;
  }

  Context context_;
  std::size_t ran_ = 0;
};

TEST_P(Shapes, CubeAtOneBlock) {
  const Candidate& c = GetParam();
  const Reference& ref = reference(c.key(), one_block(c.kernel->key.weights));
  for (std::size_t N = 1; N <= kReferenceN; ++N) {
    const Weights w = ref.w.rows(0, N);
    const Result<PackedWeights> packed = PackedWeights::pack(w.view(), context_, options_for(c));
    ASSERT_TRUE(packed) << packed.status().message();
    for (std::size_t M = 1; M <= 40; ++M) {
      if (c.runs(M)) {
        ASSERT_NO_FATAL_FAILURE(check(*packed, ref, 0, M));
      }
    }
  }
  EXPECT_GT(ran_, 0u);
}

TEST_P(Shapes, EachRowAloneAndInEveryBatch) {
  const Candidate& c = GetParam();
  const Reference& ref = reference(c.key(), 3 * one_block(c.kernel->key.weights));
  const Result<PackedWeights> packed = PackedWeights::pack(ref.w.view(), context_, options_for(c));
  ASSERT_TRUE(packed) << packed.status().message();
  for (std::size_t m = 0; m < kReferenceM && c.runs(1); ++m) ASSERT_NO_FATAL_FAILURE(check(*packed, ref, m, 1));
  for (std::size_t M = 2; M <= kReferenceM; ++M) {
    if (c.runs(M)) {
      ASSERT_NO_FATAL_FAILURE(check(*packed, ref, kReferenceM - M, M));
    }
  }
  EXPECT_GT(ran_, 0u);
}

TEST_P(Shapes, GemvIsMatmulOfOneRow) {
  const Candidate& c = GetParam();
  if (!c.runs(1)) return;  // another kernel of the provider serves M = 1
  const Reference& ref = reference(c.key(), 3 * one_block(c.kernel->key.weights));
  const MatmulOptions options = options_for(c);
  const Result<PackedWeights> packed = PackedWeights::pack(ref.w.view(), context_, options);
  ASSERT_TRUE(packed) << packed.status().message();
  for (const std::size_t m : {0u, 5u, 63u}) {
    const ConstMatrixView x = ref.x.row(m);
    Matrix y(1, kReferenceN);
    ASSERT_TRUE(gemv(*packed, {x.data, x.cols}, {y.view().data, kReferenceN}, context_, options));
    EXPECT_TRUE(matches(ref.y.row(m), y.view()));
    Matrix again(1, kReferenceN);
    ASSERT_TRUE(gemv(ref.w.view(), {x.data, x.cols}, {again.view().data, kReferenceN}, context_, options));
    EXPECT_TRUE(matches(ref.y.row(m), again.view()));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Shapes, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
