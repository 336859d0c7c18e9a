// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formats/reference.hpp"
#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(rng());
  return bytes;
}

WeightView view_of(DType t, std::size_t N, std::size_t K, const std::vector<std::uint8_t>& bytes) {
  return {t, N, K, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), 0};
}

class RandomBytes : public ::testing::TestWithParam<DType> {};

/// Any bytes, every field at once: the exact value rounded to f32, NaN and Inf where the scale is.
TEST_P(RandomBytes, DecodeToTheDoubleReference) {
  const DType t = GetParam();
  const std::size_t elems = info(t).block_elems;
  const std::size_t blocks = 2000;
  const std::vector<std::uint8_t> bytes = random_bytes(blocks * info(t).block_bytes, 7);
  std::vector<float> out(blocks * elems);
  ASSERT_TRUE(dequantize(view_of(t, 1, out.size(), bytes), 0, {out.data(), 1, out.size()}).ok());
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t e = 0; e < elems; ++e) {
      const double want = test::reference_decode(t, bytes.data() + b * info(t).block_bytes, e);
      const float got = out[b * elems + e];
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << to_string(t) << " block " << b << " element " << e;
      } else {
        ASSERT_EQ(got, static_cast<float>(want)) << to_string(t) << " block " << b << " element " << e;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RandomBytes,
                         ::testing::Values(DType::f16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q5_k, DType::q6_k,
                                           DType::tq1_0, DType::tq2_0),
                         [](const auto& i) { return std::string(to_string(i.param)); });

TEST(Decode, Q8_0HoldsMinus128) {
  std::vector<std::uint8_t> block(34, 0x80);
  block[0] = 0x00;
  block[1] = 0x3c;  // 1.0
  std::vector<float> out(32);
  ASSERT_TRUE(dequantize(view_of(DType::q8_0, 1, 32, block), 0, {out.data(), 1, 32}).ok());
  for (const float v : out) EXPECT_EQ(v, -128.0f);
}

TEST(Decode, FloatsKeepEveryBit) {
  const std::vector<std::uint8_t> bytes = random_bytes(4 * 4096, 9);
  std::vector<float> out(4096);
  ASSERT_TRUE(dequantize(view_of(DType::f32, 1, 4096, bytes), 0, {out.data(), 1, 4096}).ok());
  EXPECT_EQ(std::memcmp(out.data(), bytes.data(), bytes.size()), 0);
  ASSERT_TRUE(dequantize(view_of(DType::bf16, 1, 4096, bytes), 0, {out.data(), 1, 4096}).ok());
  for (std::size_t i = 0; i < 4096; ++i) {
    const std::uint32_t want = (bytes[2 * i] + 256u * bytes[2 * i + 1]) << 16;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), want);
  }
}

/// Rows that begin inside a byte.
TEST(Decode, BitnetStream) {
  for (const std::size_t K : {1u, 2u, 3u, 4u, 5u, 7u, 50u}) {
    for (const std::size_t N : {1u, 2u, 3u, 5u, 16u}) {
      const std::size_t n = N * K;
      std::vector<std::uint8_t> bytes = random_bytes((n + 3) / 4 + 4, static_cast<unsigned>(K * 100 + N));
      const float scale = 0.3f;
      std::memcpy(bytes.data() + (n + 3) / 4, &scale, 4);
      std::vector<float> out(n);
      ASSERT_TRUE(dequantize(view_of(DType::bitnet_b158, N, K, bytes), 0, {out.data(), N, K}).ok());
      for (std::size_t i = 0; i < n; ++i) {
        const int code = (bytes[i / 4] >> (i % 4 * 2)) & 3;
        ASSERT_EQ(out[i], static_cast<float>(code - 1) * scale) << N << "x" << K << " element " << i;
      }
      std::vector<float> last(K);
      ASSERT_TRUE(dequantize(view_of(DType::bitnet_b158, N, K, bytes), N - 1, {last.data(), 1, K}).ok());
      EXPECT_EQ(std::memcmp(last.data(), &out[(N - 1) * K], K * sizeof(float)), 0);
    }
  }
}

TEST(Decode, RefusesWhatDoesNotFit) {
  const std::vector<std::uint8_t> bytes(2 * 34);
  const WeightView w = view_of(DType::q8_0, 2, 32, bytes);
  std::vector<float> out(3 * 32, -7.0f);
  EXPECT_EQ(dequantize(w, 0, {out.data(), 2, 31}).code(), StatusCode::shape_mismatch);
  EXPECT_EQ(dequantize(w, 0, {out.data(), 3, 32}).code(), StatusCode::shape_mismatch);
  EXPECT_EQ(dequantize(w, 1, {out.data(), 2, 32}).code(), StatusCode::shape_mismatch);
  EXPECT_EQ(dequantize(w, 3, {out.data(), 0, 32}).code(), StatusCode::shape_mismatch);
  EXPECT_EQ(dequantize(w, ~std::size_t{0}, {out.data(), 2, 32}).code(), StatusCode::shape_mismatch);
  EXPECT_EQ(dequantize(w, 0, {nullptr, 2, 32}).code(), StatusCode::invalid_argument);
  EXPECT_EQ(dequantize(w, 0, {out.data(), 2, 32, 31}).code(), StatusCode::invalid_argument);
  EXPECT_EQ(dequantize(w, 0, {out.data(), 2, 32, ~std::size_t{0} / 4}).code(), StatusCode::shape_mismatch);
  WeightView garbage = w;
  garbage.dtype = static_cast<DType>(99);
  EXPECT_EQ(dequantize(garbage, 0, {out.data(), 2, 32}).code(), StatusCode::unsupported);
  for (const float v : out) EXPECT_EQ(v, -7.0f);
  EXPECT_TRUE(dequantize(w, 2, {nullptr, 0, 32}).ok());
}

TEST(Decode, RefusesToWriteWhatItReads) {
  std::vector<float> memory(3 * 32, 1.0f);
  const auto* bytes = reinterpret_cast<const std::byte*>(memory.data());
  const WeightView w{DType::f32, 2, 32, bytes, 2 * 32 * sizeof(float), 0};
  for (const std::size_t at : {0u, 1u, 63u}) {
    const Status s = dequantize(w, 0, {memory.data() + at, 1, 32});
    EXPECT_EQ(s.code(), at == 63 ? StatusCode::ok : StatusCode::invalid_argument) << "row 0 alone is read";
  }
  const Status s = dequantize(w, 1, {memory.data() + 63, 1, 32});
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_EQ(s.message(), "out shares memory with the weights");
  EXPECT_TRUE(dequantize(w, 0, {memory.data() + 64, 1, 32}).ok());
  // Columns of one matrix, side by side.
  const WeightView left{DType::f32, 3, 16, bytes, memory.size() * sizeof(float), 32 * sizeof(float)};
  EXPECT_TRUE(dequantize(left, 0, {memory.data() + 16, 3, 16, 32}).ok());
  EXPECT_EQ(dequantize(left, 0, {memory.data() + 15, 3, 16, 32}).code(), StatusCode::invalid_argument);
  const WeightView stream{DType::bitnet_b158, 2, 32, bytes, 20, 0};
  EXPECT_EQ(dequantize(stream, 1, {memory.data() + 4, 1, 32}).code(), StatusCode::invalid_argument) << "the scale";
  EXPECT_TRUE(dequantize(stream, 1, {memory.data() + 5, 1, 32}).ok());
}

}  // namespace
}  // namespace nibblas
