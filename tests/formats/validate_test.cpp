// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

/// Three rows of 768, a stride with a gap of 0xff bytes (NaN if they were read), zeros in the rows.
class Tensor {
 public:
  explicit Tensor(DType t) : dtype(t), row(*row_bytes(t, 768)), stride(row + 2), bytes(3 * stride, 0xff) {
    for (std::size_t r = 0; r < 3; ++r) std::memset(&bytes[r * stride], 0, row);
  }
  Status check() const {
    return validate({dtype, 3, 768, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size() - 2, stride});
  }
  std::uint8_t* block(std::size_t r, std::size_t b) { return &bytes[r * stride + b * info(dtype).block_bytes]; }

  DType dtype;
  std::size_t row;
  std::size_t stride;
  std::vector<std::uint8_t> bytes;
};

void put_half(std::uint8_t* at, unsigned h) {
  at[0] = static_cast<std::uint8_t>(h);
  at[1] = static_cast<std::uint8_t>(h >> 8);
}

struct ScaleField {
  DType dtype;
  std::size_t offset;
  const char* name;
};

TEST(Validate, NamesRowBlockAndScale) {
  const ScaleField fields[] = {{DType::q8_0, 0, "d"},    {DType::q4_0, 0, "d"},   {DType::q4_k, 0, "d"},
                               {DType::q4_k, 2, "dmin"}, {DType::q5_k, 0, "d"},   {DType::q5_k, 2, "dmin"},
                               {DType::q6_k, 208, "d"},  {DType::tq1_0, 52, "d"}, {DType::tq2_0, 64, "d"}};
  for (const ScaleField& f : fields) {
    const std::size_t blocks = 768 / info(f.dtype).block_elems;
    for (const std::size_t r : {0u, 1u, 2u}) {
      for (const std::size_t b : {std::size_t{0}, std::size_t{1}, blocks - 1}) {
        for (const unsigned bad : {0x7c00u, 0xfc00u, 0x7c01u, 0xfe00u}) {
          Tensor t(f.dtype);
          ASSERT_TRUE(t.check().ok()) << t.check().message();
          put_half(t.block(r, b) + f.offset, bad);
          const Status s = t.check();
          EXPECT_EQ(s.code(), StatusCode::invalid_data);
          const std::string want = std::string(to_string(f.dtype)) + ": row " + std::to_string(r) + ", block " +
                                   std::to_string(b) + ": " + f.name + " is ";
          EXPECT_EQ(s.message().substr(0, want.size()), want);
          EXPECT_NE(s.message().find((bad & 0x3ffu) != 0 ? "nan" : "inf"), std::string::npos) << s.message();
          put_half(t.block(r, b) + f.offset, 0x7bff);
          EXPECT_TRUE(t.check().ok());
        }
      }
    }
  }
}

TEST(Validate, NamesTheElementOfFloats) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    Tensor t(dtype);
    ASSERT_TRUE(t.check().ok());
    std::uint8_t* p = t.block(1, 517);
    p[info(dtype).block_bytes - 1] = 0xff;
    p[info(dtype).block_bytes - 2] = 0x90;  // a NaN in all three
    const Status s = t.check();
    EXPECT_EQ(s.code(), StatusCode::invalid_data);
    EXPECT_NE(s.message().find("row 1, element 517 is "), std::string::npos) << s.message();
  }
}

TEST(Validate, NamesTheCode3) {
  Tensor t(DType::tq2_0);
  // Byte 32 + 5 of block 2, pair 3: element 128 + 96 + 5 of the block.
  t.block(2, 2)[37] = 0xc0;
  const Status s = t.check();
  EXPECT_EQ(s.code(), StatusCode::invalid_data);
  EXPECT_NE(s.message().find("row 2, element 741 has the code 3"), std::string::npos) << s.message();

  for (std::size_t i = 0; i < 21; ++i) {
    std::vector<std::uint8_t> bytes(6 + 4, 0x55);
    bytes[i / 4] = static_cast<std::uint8_t>(bytes[i / 4] | (3u << (i % 4 * 2)));
    const float scale = 1.0f;
    std::memcpy(&bytes[6], &scale, 4);
    const Status b = validate({DType::bitnet_b158, 3, 7, reinterpret_cast<std::byte*>(bytes.data()), 10, 0});
    EXPECT_EQ(b.code(), StatusCode::invalid_data);
    const std::string want = "row " + std::to_string(i / 7) + ", element " + std::to_string(i % 7) + " has the code 3";
    EXPECT_NE(b.message().find(want), std::string::npos) << b.message();
  }
}

TEST(Validate, BitnetScaleAndPadding) {
  std::vector<std::uint8_t> bytes(6 + 4, 0x55);
  const WeightView w{DType::bitnet_b158, 3, 7, reinterpret_cast<std::byte*>(bytes.data()), 10, 0};
  const auto put_scale = [&](float s) { std::memcpy(&bytes[6], &s, 4); };
  put_scale(0.5f);
  bytes[5] |= 0xfc;  // behind the 21 codes
  EXPECT_TRUE(validate(w).ok()) << validate(w).message();
  put_scale(std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(validate(w).message().find("scale is nan"), std::string::npos) << validate(w).message();
  put_scale(-std::numeric_limits<float>::infinity());
  EXPECT_NE(validate(w).message().find("scale is -inf"), std::string::npos) << validate(w).message();
}

TEST(Validate, ShortBuffer) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    const std::size_t need = *tensor_bytes(t, 2, 256);
    std::vector<std::byte> bytes(need);
    EXPECT_TRUE(validate({t, 2, 256, bytes.data(), need, 0}).ok());
    EXPECT_EQ(validate({t, 2, 256, bytes.data(), need - 1, 0}).code(), StatusCode::buffer_too_small);
  }
}

}  // namespace
}  // namespace nibblas
