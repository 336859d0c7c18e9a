// SPDX-License-Identifier: Apache-2.0
#include "support/weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "nibblas/formats.hpp"
#include "support/fill.hpp"

// Tests of the tests' weights: made as promised, cut without loss, spoiled where asked.

namespace nibblas::test {
namespace {

constexpr std::size_t kK = 512;

class TestWeights : public testing::TestWithParam<DType> {};

TEST_P(TestWeights, AreValidUnlessTheirCodesAreForced) {
  for (std::size_t f = 0; f < static_cast<std::size_t>(WeightFill::bytes_00); ++f) {
    const auto fill = static_cast<WeightFill>(f);
    const Weights w(GetParam(), 9, kK, fill, 1);
    EXPECT_TRUE(validate(w.view())) << to_string(fill);
  }
}

TEST_P(TestWeights, DecodeToFiniteNumbersWhateverTheCodes) {
  for (std::size_t f = 0; f < kWeightFillCount; ++f) {
    const std::vector<float> w = decode(Weights(GetParam(), 9, kK, static_cast<WeightFill>(f), 1).view());
    EXPECT_TRUE(std::all_of(w.begin(), w.end(), [](float v) { return std::isfinite(v); })) << f;
  }
}

TEST_P(TestWeights, HaveBothSignsAndTwoDecadesOfScales) {
  const Weights w(GetParam(), 50, kK, WeightFill::blocks, 1);
  const std::vector<std::size_t> offsets = scale_offsets(GetParam());
  std::set<float> scales;
  for (std::size_t at = 0; at < w.bytes().size() && !offsets.empty(); at += info(GetParam()).block_bytes) {
    std::uint16_t h;
    std::memcpy(&h, w.bytes().data() + at + offsets[0], sizeof h);
    scales.insert(f16_to_f32(h));
  }
  if (offsets.empty()) return;
  EXPECT_LT(*scales.begin(), 0);
  EXPECT_GT(*scales.rbegin(), 0);
  float least = *scales.rbegin();
  for (const float d : scales) least = std::min(least, std::fabs(d));
  EXPECT_GT(std::max(*scales.rbegin(), -*scales.begin()), 30 * least);
}

TEST_P(TestWeights, LadderScalesDifferFromTheirNeighbours) {
  if (GetParam() == DType::bitnet_b158) return;  // has only one
  const std::vector<float> w = decode(Weights(GetParam(), 2, kK, WeightFill::ladder, 1).view());
  const std::vector<float> same = decode(Weights(GetParam(), 2, kK, WeightFill::blocks, 1).view());
  EXPECT_NE(w, same);
  if (GetParam() != DType::q4_k && GetParam() != DType::q5_k) return;
  const Weights blocks(GetParam(), 1, kK, WeightFill::ladder, 1);
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(blocks.bytes()[4 + i]); };
  std::set<unsigned> scales, minimums;
  for (std::size_t s = 0; s < 8; ++s) {
    scales.insert(s < 4 ? byte(s) & 63 : (byte(s + 4) & 15) | byte(s - 4) >> 6 << 4);
    minimums.insert(s < 4 ? byte(s + 4) & 63 : byte(s + 4) >> 4 | byte(s) >> 6 << 4);
  }
  EXPECT_EQ(scales.size(), 8u);
  EXPECT_EQ(minimums.size(), 8u);
}

TEST_P(TestWeights, RowsAreCutWithoutLoss) {
  for (const std::size_t K : {kK, std::size_t{513}}) {
    if (K % info(GetParam()).block_elems != 0) continue;
    const Weights w(GetParam(), 7, K, WeightFill::blocks, 1);
    const std::vector<float> all = decode(w.view());
    const std::vector<float> part = decode(w.rows(3, 2).view());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(3 * K))) << K;
    if (GetParam() != DType::bitnet_b158) {
      EXPECT_EQ(decode(StridedWeights(w, 37).view), all);
    }
  }
}

TEST_P(TestWeights, SpoilingARowSpoilsThatRow) {
  Weights w(GetParam(), 5, kK, WeightFill::blocks, 1);
  const std::vector<float> before = decode(w.view());
  w.spoil(3, std::nanf(""));
  const std::vector<float> after = decode(w.view());
  std::set<std::size_t> rows;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (std::isnan(after[i])) rows.insert(i / kK);
  }
  EXPECT_EQ(rows, (GetParam() == DType::bitnet_b158 ? std::set<std::size_t>{0, 1, 2, 3, 4} : std::set<std::size_t>{3}));
}

INSTANTIATE_TEST_SUITE_P(Formats, TestWeights, testing::ValuesIn([] {
                           std::vector<DType> all;
                           for (const DTypeInfo& format : kDTypes) all.push_back(format.dtype);
                           return all;
                         }()),
                         [](const auto& p) { return std::string(to_string(p.param)); });

}  // namespace
}  // namespace nibblas::test
