// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parity/product.hpp"
#include "support/oracle.hpp"

// Long K: sums that come near the end of their range, and how error grows.

namespace nibblas::test {
namespace {

class LongK : public testing::TestWithParam<Candidate> {};

TEST_P(LongK, ConstantInputsDoNotOverflow) {
  const Candidate& c = GetParam();
  constexpr std::size_t K = 65536;
  for (const WeightFill fill : {WeightFill::lowest, WeightFill::highest, WeightFill::bytes_ff}) {
    const Weights w(c.kernel->key.weights, 17, K, fill, 1);
    for (const InputFill input : {InputFill::constant, InputFill::large_sum, InputFill::extremes}) {
      const std::size_t M = c.runs(1) ? 1 : 2;
      const Matrix x = make_input(M, K, input, 1);
      Matrix y(M, 17);
      ASSERT_TRUE(multiply(c, w, x.view(), y.view()));
      EXPECT_TRUE(within_bounds(w.view(), x.view(), c.kernel->key.compute, y.view()))
          << to_string(fill) << ' ' << to_string(input);
      Matrix want(M, 17);
      ASSERT_TRUE(multiply(scalar_kernel(c.key()), w, x.view(), want.view()));
      EXPECT_TRUE(matches(want.view(), y.view())) << to_string(fill) << ' ' << to_string(input);
    }
  }
}

class SumOverAllK : public testing::TestWithParam<Candidate> {};

/// One int32 sum over all K, as long as the kernel says it may be, of the largest products that bytes can hold.
TEST_P(SumOverAllK, IsExactAsLongAsItMayBe) {
  const Candidate& c = GetParam();
  const std::size_t K = c.kernel->tiled.k_max;
  ASSERT_EQ(c.kernel->key.weights, DType::bitnet_b158);
  Weights w(DType::bitnet_b158, 1, K, WeightFill::bytes_ff, 1);  // code 3 stands for 2
  w.spoil(0, 0.5f);                                              // the scale
  Matrix x(1, K);
  for (std::size_t k = 0; k < K; ++k) x.at(0, k) = 127;
  Matrix y(1, 1);
  ASSERT_TRUE(multiply(c, w, x.view(), y.view(), {.form = Form::zero_copy}));
  EXPECT_EQ(y.at(0, 0), static_cast<float>(2.0 * 127 * static_cast<double>(K)) * 0.5f);

  const Weights longer(DType::bitnet_b158, 1, K + 1, WeightFill::bytes_00, 1);
  const Matrix too_long(1, K + 1);
  Matrix untouched(1, 1);
  Context context;
  context.registry = &registry();
  const Status s = matmul(longer.view(), too_long.view(), untouched.view(), context, options_for(c));
  EXPECT_EQ(s.code(), StatusCode::unsupported) << s.message();
  EXPECT_TRUE(is_poison(untouched.view().data, 1));
}

class FloatWeights : public testing::TestWithParam<Candidate> {};

TEST_P(FloatWeights, RelativeError) {
  const Candidate& c = GetParam();
  const DType t = c.kernel->key.weights;
  for (const std::size_t K : {1000u, 4096u, 28672u}) {
    const Weights w(t, 33, K, WeightFill::gaussian, 7);
    const std::size_t M = c.runs(4) ? 4 : 1;
    const Matrix x = make_input(M, K, InputFill::gaussian, 8);
    Matrix y(M, 33);
    ASSERT_TRUE(multiply(c, w, x.view(), y.view()));
    const Comparison compared = compare(*make_oracle(w.view(), x.view()), Compute::f32, y.view());
    EXPECT_TRUE(compared.ok);
    EXPECT_LE(compared.rel_l2, 2.5e-7) << K;
    EXPECT_GT(compared.rel_l2, 0) << K;
  }
}

std::vector<Candidate> kernels_with_a_limit() {
  std::vector<Candidate> out = all_kernels();
  std::erase_if(out, [](const Candidate& c) { return c.kernel->tiled.k_max == SIZE_MAX; });
  return out;
}

std::vector<Candidate> kernels_of_floats() {
  std::vector<Candidate> out = kernels_for_any_k();
  std::erase_if(out, [](const Candidate& c) { return c.kernel->key.weights == DType::bitnet_b158; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Kernels, LongK, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });
INSTANTIATE_TEST_SUITE_P(Kernels, SumOverAllK, testing::ValuesIn(kernels_with_a_limit()),
                         [](const auto& p) { return test_name(p.param); });
INSTANTIATE_TEST_SUITE_P(Kernels, FloatWeights, testing::ValuesIn(kernels_of_floats()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
