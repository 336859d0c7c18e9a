// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "parity/covering_array.hpp"
#include "parity/product.hpp"
#include "support/oracle.hpp"

// Tests of the tests: a comparison that cannot fail, data without extremes or an array with holes would hide anything.

namespace nibblas::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

bool equal(float want, float got) {
  Matrix a(3, 5, 1);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 5; ++c) a.at(r, c) = 1;
  }
  Matrix b = a;
  a.at(2, 4) = want;
  b.at(2, 4) = got;
  return static_cast<bool>(matches(a.view(), b.view()));
}

TEST(Comparator, AnyNaNEqualsAnyNaNAndNothingElse) {
  EXPECT_TRUE(equal(kNaN, kNaN));
  EXPECT_TRUE(equal(kNaN, -kNaN));
  EXPECT_TRUE(equal(kNaN, std::bit_cast<float>(0x7fc12345u)));
  for (const float number : {0.0f, 1.0f, kInf, -kInf}) {
    EXPECT_FALSE(equal(kNaN, number)) << number;
    EXPECT_FALSE(equal(number, kNaN)) << number;
  }
}

TEST(Comparator, EveryOtherBitCounts) {
  EXPECT_TRUE(equal(-0.0f, -0.0f));
  EXPECT_FALSE(equal(0.0f, -0.0f));
  EXPECT_TRUE(equal(kInf, kInf));
  EXPECT_FALSE(equal(kInf, -kInf));
  EXPECT_FALSE(equal(kInf, std::numeric_limits<float>::max()));
  EXPECT_FALSE(equal(1.0f, std::nextafter(1.0f, 2.0f)));
  EXPECT_FALSE(equal(0.0f, std::numeric_limits<float>::denorm_min()));
}

TEST(Comparator, SeesEveryElementAndOnlyElements) {
  const Matrix zeros = make_input(4, 7, InputFill::constant, 1);
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 7; ++c) {
      Matrix other = copy_of(zeros.view(), 3);
      EXPECT_TRUE(matches(zeros.view(), other.view()));
      other.at(r, c) = 51;
      const auto d = first_difference(zeros.view(), other.view());
      ASSERT_TRUE(d.has_value());
      EXPECT_EQ(d->row, r);
      EXPECT_EQ(d->col, c);
    }
  }
  EXPECT_FALSE(matches(zeros.view(), zeros.part(0, 3, 0, 7)));
}

TEST(Comparator, MatrixNoticesWritesBetweenRows) {
  Matrix m(2, 3, 2);
  EXPECT_TRUE(m.gaps_intact());
  m.at(0, 2) = 1;
  EXPECT_TRUE(m.gaps_intact());
  m.at(0, 3) = 1;  // the first float after row 0
  EXPECT_FALSE(m.gaps_intact());
}

TEST(Comparator, OracleRefusesWhatIsTooFarOrNoNumber) {
  const Weights w(DType::q4_0, 3, 64, WeightFill::gaussian, 1);
  const Matrix x = make_input(2, 64, InputFill::gaussian, 2);
  Oracle oracle = *make_oracle(w.view(), x.view());
  Matrix y(2, 3);
  const auto set = [&](double steps) {
    for (std::size_t i = 0; i < 6; ++i) {
      y.at(i / 3, i % 3) = static_cast<float>(oracle.y[i]);
    }
    y.at(1, 1) = static_cast<float>(oracle.y[4] + steps * oracle.bound(Compute::f32, 4));
  };
  set(0);
  EXPECT_TRUE(within_bounds(w.view(), x.view(), Compute::f32, y.view()));
  set(1.5);
  EXPECT_FALSE(within_bounds(w.view(), x.view(), Compute::f32, y.view()));
  set(-1.5);
  EXPECT_FALSE(within_bounds(w.view(), x.view(), Compute::f32, y.view()));
  y.at(1, 1) = kNaN;
  EXPECT_FALSE(within_bounds(w.view(), x.view(), Compute::f32, y.view()));
  y.at(1, 1) = kInf;
  EXPECT_FALSE(within_bounds(w.view(), x.view(), Compute::f32, y.view()));
}

TEST(CoveringArray, HoldsEveryPairInFewCases) {
  const std::vector<std::size_t> levels{16, 12, 9, 4, 2, 5, 3};
  const auto cases = covering_array(levels, 1);
  EXPECT_GE(cases.size(), 16u * 12u);
  EXPECT_LE(cases.size(), 16u * 12u * 5 / 4);
  for (std::size_t f = 0; f < levels.size(); ++f) {
    for (std::size_t g = f + 1; g < levels.size(); ++g) {
      std::set<std::pair<std::size_t, std::size_t>> seen;
      for (const auto& c : cases) {
        ASSERT_LT(c[f], levels[f]);
        seen.insert({c[f], c[g]});
      }
      EXPECT_EQ(seen.size(), levels[f] * levels[g]) << f << " and " << g;
    }
  }
}

TEST(TestData, InputsReachTheirExtremes) {
  const Matrix extremes = make_input(2, 64, InputFill::extremes, 3);
  std::set<float> values;
  for (std::size_t k = 0; k < 64; ++k) values.insert(extremes.at(1, k));
  EXPECT_EQ(values, (std::set<float>{-2.75f, 2.75f}));

  const Matrix hostile = make_input(20, 256, InputFill::hostile, 4);
  bool subnormal = false, negative_zero = false, large = false, small = false;
  for (std::size_t m = 0; m < 20; ++m) {
    for (std::size_t k = 0; k < 256; ++k) {
      const float v = hostile.at(m, k);
      EXPECT_TRUE(std::isfinite(v));
      subnormal |= std::fpclassify(v) == FP_SUBNORMAL;
      negative_zero |= v == 0 && std::signbit(v);
      large |= std::fabs(v) > 1e15f;
      small |= v != 0 && std::fabs(v) < 1e-15f && std::fpclassify(v) == FP_NORMAL;
    }
  }
  EXPECT_TRUE(subnormal && negative_zero && large && small);
}

}  // namespace
}  // namespace nibblas::test
