// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
constexpr auto kGarbage = static_cast<DType>(77);

void expect_status(const Status& s, StatusCode code, const std::string& part) {
  EXPECT_EQ(s.code(), code) << s.message();
  EXPECT_NE(s.message().find(part), std::string::npos) << "'" << s.message() << "' does not say '" << part << "'";
}

TEST(DTypes, NamesAndIds) {
  const struct {
    DType dtype;
    const char* name;
    int ggml;
  } table[] = {{DType::f32, "f32", 0},
               {DType::f16, "f16", 1},
               {DType::bf16, "bf16", 30},
               {DType::q8_0, "q8_0", 8},
               {DType::q4_0, "q4_0", 2},
               {DType::q4_k, "q4_k", 12},
               {DType::q5_k, "q5_k", 13},
               {DType::q6_k, "q6_k", 14},
               {DType::tq1_0, "tq1_0", 34},
               {DType::tq2_0, "tq2_0", 35},
               {DType::bitnet_b158, "bitnet_b158", -1}};
  EXPECT_EQ(std::size(table), kDTypeCount);
  for (const auto& t : table) {
    EXPECT_EQ(to_string(t.dtype), t.name);
    EXPECT_EQ(dtype_from_string(t.name), t.dtype);
    EXPECT_EQ(dtype_from_ggml(static_cast<std::uint32_t>(t.ggml)), t.ggml < 0 ? std::optional<DType>() : t.dtype);
  }
  EXPECT_EQ(dtype_from_string("q4_1"), std::nullopt);
  EXPECT_EQ(dtype_from_string(""), std::nullopt);
  EXPECT_EQ(dtype_from_ggml(3), std::nullopt);
  EXPECT_EQ(compute_from_string("int8_token"), Compute::int8_token);
  EXPECT_EQ(compute_from_string("automatic"), Compute::automatic);
  EXPECT_EQ(compute_from_string("int4"), std::nullopt);
  EXPECT_EQ(to_string(StatusCode::out_of_memory), "out_of_memory");
  EXPECT_EQ(to_string(static_cast<StatusCode>(200)), "invalid");
}

TEST(RowBytes, EveryFormat) {
  EXPECT_EQ(*row_bytes(DType::f32, 7), 28u);
  EXPECT_EQ(*row_bytes(DType::f16, 7), 14u);
  EXPECT_EQ(*row_bytes(DType::bf16, 7), 14u);
  EXPECT_EQ(*row_bytes(DType::q8_0, 96), 3u * 34);
  EXPECT_EQ(*row_bytes(DType::q4_0, 96), 3u * 18);
  EXPECT_EQ(*row_bytes(DType::q4_k, 512), 2u * 144);
  EXPECT_EQ(*row_bytes(DType::q5_k, 512), 2u * 176);
  EXPECT_EQ(*row_bytes(DType::q6_k, 512), 2u * 210);
  EXPECT_EQ(*row_bytes(DType::tq1_0, 512), 2u * 54);
  EXPECT_EQ(*row_bytes(DType::tq2_0, 512), 2u * 66);
  EXPECT_EQ(*row_bytes(DType::q4_k, 0), 0u);
  EXPECT_EQ(row_bytes(DType::bitnet_b158, 4).status().code(), StatusCode::unsupported);
}

TEST(RowBytes, NamesTheK) {
  for (const std::size_t K : {1u, 31u, 33u, 172u}) {
    expect_status(row_bytes(DType::q4_0, K).status(), StatusCode::shape_mismatch,
                  "q4_0: K = " + std::to_string(K) + " is not a multiple of 32");
  }
  for (const std::size_t K : {1u, 255u, 257u, 4544u, 2688u}) {
    expect_status(row_bytes(DType::q6_k, K).status(), StatusCode::shape_mismatch,
                  "q6_k: K = " + std::to_string(K) + " is not a multiple of 256");
  }
  expect_status(row_bytes(kGarbage, 32).status(), StatusCode::unsupported, "77");
}

TEST(TensorBytes, Bitnet) {
  EXPECT_EQ(*tensor_bytes(DType::bitnet_b158, 3, 5), 4u + 4);
  EXPECT_EQ(*tensor_bytes(DType::bitnet_b158, 3, 4), 3u + 4);
  EXPECT_EQ(*tensor_bytes(DType::bitnet_b158, 0, 4), 4u);
  EXPECT_EQ(*tensor_bytes(DType::bitnet_b158, kMax, 1), kMax / 4 + 1 + 4);
  expect_status(tensor_bytes(DType::bitnet_b158, kMax / 2, 3).status(), StatusCode::shape_mismatch, "overflows");
}

TEST(TensorBytes, Overflow) {
  EXPECT_EQ(*tensor_bytes(DType::q8_0, 5, 64), 5u * 68);
  EXPECT_EQ(*row_bytes(DType::f32, kMax / 4), kMax / 4 * 4);
  expect_status(row_bytes(DType::f32, kMax / 4 + 1).status(), StatusCode::shape_mismatch, "overflows");
  expect_status(row_bytes(DType::q8_0, kMax / 32 * 32).status(), StatusCode::shape_mismatch, "overflows");
  expect_status(tensor_bytes(DType::f32, kMax / 4, 2).status(), StatusCode::shape_mismatch, "overflows");
  expect_status(tensor_bytes(DType::q4_k, kMax / 100, 256).status(), StatusCode::shape_mismatch, "overflows");
  expect_status(tensor_bytes(kGarbage, 1, 1).status(), StatusCode::unsupported, "77");
  const Status row = tensor_bytes(DType::f32, 0, kMax).status();
  std::string row_overflows = "a row of K = ";
  row_overflows.append(std::to_string(kMax)).append(" overflows");
  expect_status(row, StatusCode::shape_mismatch, row_overflows);
  EXPECT_EQ(row.message().find("N ="), std::string::npos) << row.message();
}

class CheckView : public ::testing::Test {
 protected:
  std::vector<std::byte> memory = std::vector<std::byte>(4096);
  WeightView view(DType t, std::size_t N, std::size_t K, std::size_t bytes, std::size_t stride = 0) {
    return {t, N, K, memory.data(), bytes, stride};
  }
};

TEST_F(CheckView, ExactExtent) {
  EXPECT_TRUE(check_view(view(DType::q4_0, 3, 64, 108)).ok());
  expect_status(check_view(view(DType::q4_0, 3, 64, 107)), StatusCode::buffer_too_small, "bytes = 107");
  // The last row needs no padding behind it.
  EXPECT_TRUE(check_view(view(DType::q4_0, 3, 64, 2 * 40 + 36, 40)).ok());
  expect_status(check_view(view(DType::q4_0, 3, 64, 2 * 40 + 35, 40)), StatusCode::buffer_too_small, "115");
  EXPECT_TRUE(check_view(view(DType::bitnet_b158, 3, 5, 8)).ok());
  expect_status(check_view(view(DType::bitnet_b158, 3, 5, 7)), StatusCode::buffer_too_small, "take 8");
}

TEST_F(CheckView, Strides) {
  expect_status(check_view(view(DType::q4_0, 3, 64, 4096, 35)), StatusCode::invalid_argument, "row_stride = 35");
  EXPECT_TRUE(check_view(view(DType::q4_0, 3, 64, 4096, 36)).ok());
  EXPECT_TRUE(check_view(view(DType::q4_0, 3, 64, 4096, 37)).ok());
  expect_status(check_view(view(DType::bitnet_b158, 3, 8, 4096, 2)), StatusCode::invalid_argument, "row_stride = 2");
  expect_status(check_view(view(DType::q4_0, kMax / 2, 64, 4096, 4096)), StatusCode::shape_mismatch,
                "rows of row_stride = 4096 overflows");
  // (N - 1) * stride fits, the last row on top of it does not.
  expect_status(check_view(view(DType::f32, 2, 4, kMax, kMax - 3)), StatusCode::shape_mismatch, "overflows");
}

TEST_F(CheckView, NullOnlyWithoutElements) {
  for (std::size_t t = 0; t < kDTypeCount; ++t) {
    WeightView w{static_cast<DType>(t), 2, 256, nullptr, 100000, 0};
    expect_status(check_view(w), StatusCode::invalid_argument, "null");
    w.bytes = 0;
    w.N = 0;
    EXPECT_TRUE(check_view(w).ok());
    w.N = kMax;
    w.K = 0;
    EXPECT_TRUE(check_view(w).ok());
    EXPECT_TRUE(validate(w).ok());
  }
}

TEST_F(CheckView, GarbageFormatAndK) {
  expect_status(check_view(view(kGarbage, 1, 1, 4096)), StatusCode::unsupported, "77");
  expect_status(check_view(view(static_cast<DType>(255), 0, 0, 0)), StatusCode::unsupported, "255");
  expect_status(check_view(view(DType::tq1_0, 1, 300, 4096)), StatusCode::shape_mismatch, "tq1_0: K = 300");
  EXPECT_EQ(validate(view(kGarbage, 1, 1, 4096)).code(), StatusCode::unsupported);
  EXPECT_FALSE(can_quantize(kGarbage));
}

}  // namespace
}  // namespace nibblas
