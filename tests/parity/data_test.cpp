// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "parity/product.hpp"
#include "support/oracle.hpp"

// Data that breaks kernels: every byte pattern in the codes, scales of every kind, activations at the ends of their
// range. The reference is checked against the double oracle, the kernels against the reference.

namespace nibblas::test {
namespace {

class Data : public testing::TestWithParam<Candidate> {};

TEST_P(Data, EveryWeightWithEveryInput) {
  const Candidate& c = GetParam();
  const DType t = c.kernel->key.weights;
  const std::size_t K = info(t).block_elems == 1 ? 135 : 2 * info(t).block_elems;
  constexpr std::size_t N = 33;
  std::size_t ran = 0;
  for (std::size_t f = 0; f < kWeightFillCount; ++f) {
    for (std::size_t i = 0; i < kInputFillCount; ++i) {
      const Reference& ref = reference(c.key(), K, static_cast<WeightFill>(f), static_cast<InputFill>(i));
      for (const std::size_t M : {1u, 3u, 17u}) {
        if (!c.runs(M)) continue;
        Matrix y(M, N);
        ASSERT_TRUE(multiply(c, ref.w.rows(0, N), ref.x.part(0, M, 0, K), y.view()));
        ASSERT_TRUE(matches(ref.y.part(0, M, 0, N), y.view()))
            << "W " << to_string(static_cast<WeightFill>(f)) << ", X " << to_string(static_cast<InputFill>(i));
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 0u);
}

/// X = the unit vectors: Y is W, element by element. Finds any code, scale or sub-block in the wrong place.
TEST_P(Data, UnitVectorsReadTheWeightsBack) {
  const Candidate& c = GetParam();
  const std::size_t K = one_block(c.kernel->key.weights);
  Matrix x = make_input(K, K, InputFill::zeros, 1);
  for (std::size_t k = 0; k < K; ++k) x.at(k, k) = 1;
  for (const WeightFill fill : {WeightFill::gaussian, WeightFill::blocks, WeightFill::ladder, WeightFill::tiny,
                                WeightFill::bytes_ff, WeightFill::bytes_80}) {
    const Weights w(c.kernel->key.weights, 33, K, fill, 5);
    const std::vector<float> values = decode(w.view());
    const Result<Oracle> oracle = make_oracle(w.view(), x.view());  // for |d * sc * q| + |dmin * m|
    ASSERT_TRUE(oracle);
    for (const std::size_t M : {K, std::size_t{1}}) {
      if (!c.runs(M)) continue;
      Matrix y(M, w.N());
      ASSERT_TRUE(multiply(c, w, x.part(K - M, M, 0, K), y.view()));
      for (std::size_t m = 0; m < M; ++m) {
        for (std::size_t n = 0; n < w.N(); ++n) {
          const std::size_t k = K - M + m;
          const float want = values[n * K + k];
          if (c.kernel->key.compute == Compute::f32) {
            ASSERT_EQ(y.at(m, n), want) << to_string(fill) << " row " << n << " element " << k;
          } else {  // 1/127 and its product with d are rounded, and 127 times that
            ASSERT_NEAR(y.at(m, n), want, 0x1p-20 * oracle->magnitude[k * w.N() + n] + 0x1p-140)
                << to_string(fill) << " row " << n << " element " << k;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Data, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
