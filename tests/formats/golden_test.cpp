// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "formats/golden_files.hpp"
#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

using test::golden_input;
using test::golden_row;
using test::kGoldenK;
using test::kGoldenRows;
using test::read_golden;

std::vector<std::byte> golden_bytes(DType t) {
  if (t == DType::f32) return read_golden<std::byte>("quant_input.f32");
  return read_golden<std::byte>("quant_" + std::string(to_string(t)) + ".bin");
}

std::vector<float> golden_values(DType t) {
  if (t == DType::f32) return golden_input();
  return read_golden<float>("dequant_" + std::string(to_string(t)) + ".f32");
}

class Golden : public ::testing::TestWithParam<DType> {};

/// At every byte offset, from rows that do not follow each other, into rows that do not either.
TEST_P(Golden, DecodesBitForBit) {
  const DType t = GetParam();
  const std::vector<std::byte> bytes = golden_bytes(t);
  const std::vector<float> want = golden_values(t);
  const std::size_t row = *row_bytes(t, kGoldenK);
  ASSERT_EQ(bytes.size(), kGoldenRows * row);
  ASSERT_EQ(want.size(), kGoldenRows * kGoldenK);
  for (const std::size_t offset : {0u, 1u, 2u, 3u}) {
    const std::size_t stride = row + offset;
    std::vector<std::byte> memory(offset + kGoldenRows * stride, std::byte{0xff});
    for (std::size_t r = 0; r < kGoldenRows; ++r) {
      std::memcpy(memory.data() + offset + r * stride, bytes.data() + r * row, row);
    }
    const WeightView w{
        t, kGoldenRows, kGoldenK, memory.data() + offset, memory.size() - offset, offset == 0 ? 0 : stride};
    const std::size_t out_stride = kGoldenK + offset;
    std::vector<float> out(kGoldenRows * out_stride, -77.0f);
    ASSERT_TRUE(dequantize(w, 0, {out.data(), kGoldenRows, kGoldenK, out_stride}).ok());
    for (std::size_t r = 0; r < kGoldenRows; ++r) {
      ASSERT_EQ(std::memcmp(&out[r * out_stride], &want[r * kGoldenK], kGoldenK * sizeof(float)), 0)
          << to_string(t) << " row " << r << " " << test::golden_row_name(r);
      for (std::size_t k = kGoldenK; k < out_stride; ++k) ASSERT_EQ(out[r * out_stride + k], -77.0f);
    }
    EXPECT_TRUE(validate(w).ok());
  }
}

TEST_P(Golden, DecodesRowsFromTheMiddle) {
  const DType t = GetParam();
  const std::vector<std::byte> bytes = golden_bytes(t);
  const std::vector<float> want = golden_values(t);
  const WeightView w{t, kGoldenRows, kGoldenK, bytes.data(), bytes.size(), 0};
  std::vector<float> out(3 * kGoldenK);
  ASSERT_TRUE(dequantize(w, 17, {out.data(), 3, kGoldenK}).ok());
  EXPECT_EQ(std::memcmp(out.data(), &want[17 * kGoldenK], out.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, Golden,
                         ::testing::Values(DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k,
                                           DType::q5_k, DType::q6_k, DType::tq1_0, DType::tq2_0),
                         [](const auto& i) { return std::string(to_string(i.param)); });

class GoldenEncode : public ::testing::TestWithParam<DType> {};

TEST_P(GoldenEncode, GivesGgmlsBytes) {
  const DType t = GetParam();
  const std::vector<float> x = golden_input();
  std::vector<std::byte> want = golden_bytes(t);
  const std::size_t row = *row_bytes(t, kGoldenK);
  // Where 1/scale is not finite ggml's q4_0 writes codes that decode to -8 * 0; ours is the block it makes of zeros.
  const std::size_t denormal = golden_row("fp32_denormal");
  if (t != DType::f32 && t != DType::f16 && t != DType::bf16) {
    std::copy_n(want.begin() + static_cast<std::ptrdiff_t>(golden_row("zeros") * row), row,
                want.begin() + static_cast<std::ptrdiff_t>(denormal * row));
  }
  std::vector<std::byte> got(want.size() + 1, std::byte{0xa5});
  ASSERT_TRUE(quantize(t, {x.data(), kGoldenRows, kGoldenK}, std::span(got).first(want.size())).ok());
  EXPECT_EQ(got.back(), std::byte{0xa5});
  for (std::size_t r = 0; r < kGoldenRows; ++r) {
    EXPECT_EQ(std::memcmp(&got[r * row], &want[r * row], row), 0) << "row " << r << " " << test::golden_row_name(r);
  }
}

TEST_P(GoldenEncode, ReadsStridedRowsAndWritesAnyAddress) {
  const DType t = GetParam();
  const std::vector<float> x = golden_input();
  const std::size_t stride = kGoldenK + 3;
  std::vector<float> strided(kGoldenRows * stride, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t r = 0; r < kGoldenRows; ++r) {
    std::copy_n(&x[r * kGoldenK], kGoldenK, &strided[r * stride]);
  }
  const std::size_t bytes = *tensor_bytes(t, kGoldenRows, kGoldenK);
  std::vector<std::byte> dense(bytes);
  std::vector<std::byte> odd(bytes + 1);
  ASSERT_TRUE(quantize(t, {x.data(), kGoldenRows, kGoldenK}, dense).ok());
  ASSERT_TRUE(quantize(t, {strided.data(), kGoldenRows, kGoldenK, stride}, std::span(odd).subspan(1)).ok());
  EXPECT_EQ(std::memcmp(dense.data(), odd.data() + 1, bytes), 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, GoldenEncode,
                         ::testing::Values(DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::tq1_0,
                                           DType::tq2_0),
                         [](const auto& i) { return std::string(to_string(i.param)); });

}  // namespace
}  // namespace nibblas
