// SPDX-License-Identifier: Apache-2.0
#include "support/fill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "nibblas/formats.hpp"

namespace nibblas::test {
namespace {

constexpr std::size_t kN = 6;
constexpr std::size_t kK = 512;

std::vector<std::byte> blocks(DType t, Codes codes, std::uint64_t seed = 1) {
  std::vector<std::byte> bytes(*tensor_bytes(t, kN, kK));
  const Status s = fill_blocks(t, kN, kK, seed, codes, bytes);
  EXPECT_TRUE(s.ok()) << s.message();
  return bytes;
}

std::vector<float> decoded(DType t, const std::vector<std::byte>& bytes) {
  std::vector<float> w(kN * kK);
  const Status s = dequantize({t, kN, kK, bytes.data(), bytes.size(), 0}, 0, {w.data(), kN, kK});
  EXPECT_TRUE(s.ok()) << s.message();
  return w;
}

class FillBlocks : public testing::TestWithParam<DType> {};

TEST_P(FillBlocks, AreValidWhateverTheCodes) {
  for (const Codes codes : {Codes::random, Codes::lowest, Codes::highest, Codes::alternating}) {
    const auto bytes = blocks(GetParam(), codes);
    const Status s = validate({GetParam(), kN, kK, bytes.data(), bytes.size(), 0});
    EXPECT_TRUE(s.ok()) << s.message();
  }
}

TEST_P(FillBlocks, RandomWeightsAreOfModestSizeAndBothSigns) {
  const auto w = decoded(GetParam(), blocks(GetParam(), Codes::random));
  double squares = 0;
  for (const float v : w) squares += static_cast<double>(v) * static_cast<double>(v);
  const double rms = std::sqrt(squares / static_cast<double>(w.size()));
  EXPECT_GT(rms, 0.01);
  EXPECT_LT(rms, 3);
  EXPECT_TRUE(std::any_of(w.begin(), w.end(), [](float v) { return v < 0; }));
  EXPECT_TRUE(std::any_of(w.begin(), w.end(), [](float v) { return v > 0; }));
}

TEST_P(FillBlocks, DependOnTheSeedAlone) {
  EXPECT_EQ(blocks(GetParam(), Codes::random, 5), blocks(GetParam(), Codes::random, 5));
  EXPECT_NE(blocks(GetParam(), Codes::random, 5), blocks(GetParam(), Codes::random, 6));
}

TEST_P(FillBlocks, WeightsRepeatWithAPrimePeriod) {
  const std::size_t rows = kEncodedRows + 3;
  const std::size_t K = 256;
  std::vector<std::byte> bytes(*tensor_bytes(GetParam(), rows, K));
  ASSERT_TRUE(fill_weights(GetParam(), rows, K, 3, bytes).ok());
  const WeightView w{GetParam(), rows, K, bytes.data(), bytes.size(), 0};
  EXPECT_TRUE(validate(w).ok());
  std::vector<float> first(K), second(K), repeated(K);
  ASSERT_TRUE(dequantize(w, 1, {first.data(), 1, K}).ok());
  ASSERT_TRUE(dequantize(w, 2, {second.data(), 1, K}).ok());
  ASSERT_TRUE(dequantize(w, kEncodedRows + 1, {repeated.data(), 1, K}).ok());
  EXPECT_NE(first, second);
  EXPECT_EQ(first == repeated, GetParam() != DType::bitnet_b158) << "whose rows are not byte-aligned";
}

TEST_P(FillBlocks, ShortBufferIsRefused) {
  std::vector<std::byte> bytes(*tensor_bytes(GetParam(), kN, kK) - 1);
  EXPECT_EQ(fill_blocks(GetParam(), kN, kK, 1, Codes::random, bytes).code(), StatusCode::buffer_too_small);
  EXPECT_EQ(fill_weights(GetParam(), kN, kK, 1, bytes).code(), StatusCode::buffer_too_small);
}

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (const DTypeInfo& t : kDTypes) all.push_back(t.dtype);
  return all;
}
INSTANTIATE_TEST_SUITE_P(AllFormats, FillBlocks, testing::ValuesIn(all_dtypes()),
                         [](const auto& p) { return std::string(to_string(p.param)); });

/// Weights of a row of each block divided by its scale: the codes as numbers.
std::set<float> codes_of(DType t, Codes codes, std::size_t block, std::size_t scale_at) {
  const auto bytes = blocks(t, codes);
  const auto w = decoded(t, bytes);
  const DTypeInfo& info = nibblas::info(t);
  const std::byte* at = bytes.data() + block * info.block_bytes + scale_at;
  const float d =
      f16_to_f32(static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) | std::to_integer<unsigned>(at[1]) << 8));
  std::set<float> values;
  for (std::size_t i = 0; i < info.block_elems; ++i) values.insert(w[block * info.block_elems + i] / d);
  return values;
}

TEST(FillExtremes, CodesAreAtTheirEnds) {
  EXPECT_EQ(codes_of(DType::q8_0, Codes::lowest, 1, 0), std::set<float>{-128});
  EXPECT_EQ(codes_of(DType::q8_0, Codes::highest, 1, 0), std::set<float>{127});
  EXPECT_EQ(codes_of(DType::q8_0, Codes::alternating, 1, 0), (std::set<float>{-128, 127}));
  EXPECT_EQ(codes_of(DType::q4_0, Codes::lowest, 2, 0), std::set<float>{-8});
  EXPECT_EQ(codes_of(DType::q4_0, Codes::highest, 2, 0), std::set<float>{7});
  EXPECT_EQ(codes_of(DType::q6_k, Codes::lowest, 1, 208), std::set<float>{-32 * -128});
  EXPECT_EQ(codes_of(DType::q6_k, Codes::highest, 1, 208), std::set<float>{31 * 127});
  for (const auto& [t, scale_at] : {std::pair{DType::tq1_0, 52}, std::pair{DType::tq2_0, 64}}) {
    const auto at = static_cast<std::size_t>(scale_at);
    EXPECT_EQ(codes_of(t, Codes::lowest, 1, at), std::set<float>{-1});
    EXPECT_EQ(codes_of(t, Codes::highest, 1, at), std::set<float>{1});
    EXPECT_EQ(codes_of(t, Codes::random, 1, at), (std::set<float>{-1, 0, 1}));
  }
}

TEST(FillGaussian, HasItsMomentsAndOutliers) {
  constexpr std::size_t kRows = 40, kCols = 1000, kStride = 1003;
  std::vector<float> x(kRows * kStride, 42.0f), plain(x);
  fill_gaussian_with_outliers({x.data(), kRows, kCols, kStride}, 9);
  fill_gaussian({plain.data(), kRows, kCols, kStride}, 9);
  double sum = 0, squares = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    EXPECT_EQ(x[r * kStride + kCols], 42.0f) << "written past the row";
    for (std::size_t c = 0; c < kCols; ++c) {
      const float v = plain[r * kStride + c];
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
      ASSERT_EQ(x[r * kStride + c], c % 211 == 0 ? 8 * v : v);
    }
  }
  EXPECT_NEAR(sum / (kRows * kCols), 0, 0.03);
  EXPECT_NEAR(squares / (kRows * kCols), 1, 0.03);
}

// Cases with fewer tokens see the first rows of the same X.
TEST(FillGaussian, RowsDoNotDependOnTheirNumber) {
  std::vector<float> one(33), three(99);
  fill_gaussian({one.data(), 1, 33}, 4);
  fill_gaussian({three.data(), 3, 33}, 4);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), three.begin()));
}

}  // namespace
}  // namespace nibblas::test
