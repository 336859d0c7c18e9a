// SPDX-License-Identifier: Apache-2.0
#include "parity/product.hpp"

#include <gtest/gtest.h>

#include "nibblas/executor.hpp"

// Ternary products of real numbers against the oracle, threads against single rows, and what packing costs.

namespace nibblas::test {
namespace {

std::vector<Candidate> ternary_kernels() {
  std::vector<Candidate> all = all_kernels();
  std::erase_if(all, [](const Candidate& c) { return !is_legal(c.kernel->key.weights, Compute::int8_token); });
  return all;
}

class TernaryProduct : public testing::TestWithParam<Candidate> {};

TEST_P(TernaryProduct, RandomAgainstTheOracle) {
  const Candidate& c = GetParam();
  const Weights w(c.kernel->key.weights, 64, 2560, WeightFill::gaussian, 21);
  for (const std::size_t M : {1u, 19u}) {
    if (!c.runs(M)) continue;
    const Matrix x = make_input(M, 2560, InputFill::gaussian, 22);
    for (const Form form : {Form::packed, Form::zero_copy}) {
      Matrix y(M, 64);
      ASSERT_TRUE(multiply(c, w, x.view(), y.view(), {.form = form}));
      EXPECT_TRUE(within_bounds(w.view(), x.view(), c.kernel->key.compute, y.view()));
    }
  }
}

TEST_P(TernaryProduct, RowsOnThreadsAreRowsOneByOne) {
  const Candidate& c = GetParam();
  if (!c.runs(1) || !c.runs(33)) return;
  const Weights w(c.kernel->key.weights, 200, 1024, WeightFill::blocks, 23);
  const Matrix x = make_input(33, 1024, InputFill::gaussian, 24);
  ThreadPool pool(3);
  Matrix all(33, 200);
  ASSERT_TRUE(multiply(c, w, x.view(), all.view(), {.executor = &pool}));
  for (std::size_t m = 0; m < 33; ++m) {
    Matrix one(1, 200);
    ASSERT_TRUE(multiply(c, w, x.row(m), one.view()));
    ASSERT_TRUE(matches(one.view(), std::as_const(all).row(m))) << m;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, TernaryProduct, testing::ValuesIn(ternary_kernels()),
                         [](const auto& p) { return test_name(p.param); });

TEST(TernaryMemory, PackedIsAFifteenthOfFloats) {
  for (const DType t : {DType::tq1_0, DType::tq2_0, DType::bitnet_b158}) {
    for (const auto& [N, K] : {std::pair<std::size_t, std::size_t>{4096, 4096}, {6912, 2560}, {640, 2560}}) {
      EXPECT_LE(*packed_bytes(t, N, K) * 15, N * K * sizeof(float)) << to_string(t) << ' ' << N << " x " << K;
    }
  }
}

}  // namespace
}  // namespace nibblas::test
