// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "parity/product.hpp"

// A NaN or Inf stays in its row or column. Empty products do nothing, or zero Y.

namespace nibblas::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kN = 33;

class SpecialValues : public testing::TestWithParam<Candidate> {
 protected:
  std::size_t K() const { return 3 * one_block(GetParam().kernel->key.weights); }
};

TEST_P(SpecialValues, ABadRowOfXSpoilsThatRowOfY) {
  const Candidate& c = GetParam();
  const Weights w(c.kernel->key.weights, kN, K(), WeightFill::blocks, 3);
  for (const std::size_t M : {1u, 4u, 17u}) {
    if (!c.runs(M)) continue;
    const Matrix clean = make_input(M, K(), InputFill::gaussian, 4);
    Matrix want(M, kN);
    ASSERT_TRUE(multiply(c, w, clean.view(), want.view()));
    for (const float bad : {kNaN, kInf, -kInf}) {
      for (const Form form : {Form::packed, Form::zero_copy}) {
        Matrix x = clean;
        x.at(M / 2, K() / 2 + 5) = bad;
        Matrix y(M, kN);
        ASSERT_TRUE(multiply(c, w, x.view(), y.view(), {.form = form}));
        for (std::size_t m = 0; m < M; ++m) {
          if (m != M / 2) {
            ASSERT_TRUE(matches(want.row(m), std::as_const(y).row(m))) << "row " << m << " of " << M;
            continue;
          }
          for (std::size_t n = 0; n < kN; ++n) ASSERT_FALSE(std::isfinite(y.at(m, n))) << bad << " column " << n;
        }
      }
    }
  }
}

TEST_P(SpecialValues, ABadRowOfWSpoilsThatColumnOfY) {
  const Candidate& c = GetParam();
  const bool one_scale = c.kernel->key.weights == DType::bitnet_b158;
  const Weights clean(c.kernel->key.weights, kN, K(), WeightFill::blocks, 3);
  for (const std::size_t M : {1u, 4u, 17u}) {
    if (!c.runs(M)) continue;
    const Matrix x = make_input(M, K(), InputFill::gaussian, 4);
    Matrix want(M, kN);
    ASSERT_TRUE(multiply(c, clean, x.view(), want.view()));
    for (const float bad : {kNaN, kInf, -kInf}) {
      for (const std::size_t spoiled : {0u, 13u, 32u}) {
        Weights w = clean;
        w.spoil(spoiled, bad);
        Matrix y(M, kN);
        ASSERT_TRUE(multiply(c, w, x.view(), y.view(), {.form = spoiled == 13 ? Form::zero_copy : Form::packed}));
        for (std::size_t n = 0; n < kN; ++n) {
          if (n != spoiled && !one_scale) {
            ASSERT_TRUE(matches(want.part(0, M, n, 1), std::as_const(y).part(0, M, n, 1))) << "column " << n;
            continue;
          }
          for (std::size_t m = 0; m < M; ++m) ASSERT_FALSE(std::isfinite(y.at(m, n))) << bad << " row " << m;
        }
      }
    }
  }
}

TEST_P(SpecialValues, YIsNeverRead) {
  const Candidate& c = GetParam();
  const Reference& ref = reference(c.key(), K());
  for (const float old : {0.0f, kNaN, kInf, -kInf, 1e38f}) {
    for (const std::size_t M : {1u, 15u, 16u, 17u, 25u}) {
      if (!c.runs(M)) continue;
      Matrix y(M, kN);
      for (std::size_t i = 0; i < M * kN; ++i) y.at(i / kN, i % kN) = old;
      ASSERT_TRUE(multiply(c, ref.w.rows(0, kN), ref.x.part(0, M, 0, K()), y.view()));
      ASSERT_TRUE(matches(ref.y.part(0, M, 0, kN), y.view())) << "over " << old;
    }
  }
}

/// Every combination of sizes 0 and not 0, with null for what has no elements.
TEST_P(SpecialValues, EmptyProducts) {
  const Candidate& c = GetParam();
  Context context;
  context.registry = &registry();
  for (unsigned mask = 0; mask < 7; ++mask) {
    const std::size_t M = (mask & 1) != 0 ? 3 : 0;
    const std::size_t N = (mask & 2) != 0 ? 5 : 0;
    const std::size_t length = (mask & 4) != 0 ? K() : 0;
    const std::size_t rows = c.runs(M) ? M : std::min<std::size_t>(M, 1);
    const WeightView w{c.kernel->key.weights, N, length, nullptr, 0, 0};
    const Weights full(c.kernel->key.weights, 5, K(), WeightFill::gaussian, 1);
    const WeightView usable = N * length != 0 ? full.view() : w;
    const Matrix x = make_input(3, K(), InputFill::gaussian, 1);
    const ConstMatrixView xv{rows * length != 0 ? x.view().data : nullptr, rows, length};
    Matrix y(rows, N, 2);
    const MatrixView yv{rows * N != 0 ? y.view().data : nullptr, rows, N, N + 2};
    const auto check = [&](const char* what) {
      SCOPED_TRACE(testing::Message() << what << " M " << rows << " N " << N << " K " << length);
      for (std::size_t m = 0; m < rows; ++m) {
        for (std::size_t n = 0; n < N; ++n) EXPECT_TRUE(same_bits(y.at(m, n), 0.0f));
      }
      EXPECT_TRUE(y.gaps_intact());
      poison(y.view().data, rows * (N + 2));
    };
    const Status direct = matmul(usable, xv, yv, context, options_for(c));
    EXPECT_TRUE(direct) << direct.message();
    check("zero-copy");
    const Result<PackedWeights> packed = PackedWeights::pack(usable, context, options_for(c));
    ASSERT_TRUE(packed) << packed.status().message();
    const Status by_panels = matmul(*packed, xv, yv, context, options_for(c));
    EXPECT_TRUE(by_panels) << by_panels.message();
    check("packed");
    Activations activations;
    const Status ready = prepare(xv, c.kernel->key.compute, activations, context);
    ASSERT_TRUE(ready) << ready.message();
    const Status by_prepared = matmul(*packed, activations, yv, context, options_for(c));
    EXPECT_TRUE(by_prepared) << by_prepared.message();
    check("prepared");
    EXPECT_EQ(*workspace_size(usable, rows, context, options_for(c)), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SpecialValues, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
