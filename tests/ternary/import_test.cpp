// SPDX-License-Identifier: Apache-2.0
#include "nibblas/import.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../gguf/gguf_builder.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/gguf.hpp"
#include "nibblas/matmul.hpp"
#include "support/kernels.hpp"
#include "support/matrix.hpp"

// i2_s bytes written here, element after element as each layout is described, and read back by products with one-hot X.

namespace nibblas::test {
namespace {

struct Shape {
  std::size_t N;
  std::size_t K;
};
constexpr std::size_t kN = 12;
constexpr std::size_t kK = 384;  // three groups of 128 a row
constexpr Shape kShape{kN, kK};
constexpr I2sLayout kLayouts[] = {I2sLayout::group128, I2sLayout::group64, I2sLayout::rows4, I2sLayout::sequential};

unsigned code_of(std::size_t row, std::size_t k) { return static_cast<unsigned>((k * k + k / 7 + 5 * row) % 3); }

/// Codes of four elements into a byte, the first in the high bits.
std::byte high_first(unsigned a, unsigned b, unsigned c, unsigned d) {
  return static_cast<std::byte>(a << 6 | b << 4 | c << 2 | d);
}

/// Byte by byte in the order in which each writer goes.
std::vector<std::byte> codes(I2sLayout layout, Shape shape = kShape) {
  const auto [N, K] = shape;
  std::vector<std::byte> out;
  const auto element = [&](std::size_t i) { return i < shape.N * shape.K ? code_of(i / shape.K, i % shape.K) : 3; };
  const auto groups = [&](std::size_t lane) {
    for (std::size_t g = 0; g < shape.N * shape.K; g += 4 * lane) {
      for (std::size_t j = g; j < g + lane; ++j) {
        out.push_back(high_first(element(j), element(j + lane), element(j + 2 * lane), element(j + 3 * lane)));
      }
    }
  };
  if (layout == I2sLayout::group128) groups(32);
  if (layout == I2sLayout::group64) groups(16);
  if (layout == I2sLayout::rows4) {
    for (std::size_t r = 0; r < N; r += 4) {
      for (std::size_t k = 0; k < K; ++k) {
        out.push_back(high_first(code_of(r, k), code_of(r + 1, k), code_of(r + 2, k), code_of(r + 3, k)));
      }
    }
  }
  if (layout == I2sLayout::sequential) {
    for (std::size_t i = 0; i < N * K; i += 4) {
      out.push_back(high_first(element(i + 3), element(i + 2), element(i + 1), element(i)));
    }
  }
  return out;
}

void append(std::vector<std::byte>& bytes, float value) {
  bytes.resize(bytes.size() + sizeof value);
  std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
}

std::vector<std::byte> with_tail(I2sLayout layout, float scale) {
  std::vector<std::byte> bytes = codes(layout);
  append(bytes, scale);
  bytes.resize(bytes.size() + 28, std::byte{0x5a});
  return bytes;
}

/// More than what any shape here takes.
std::vector<std::byte> room() { return std::vector<std::byte>(kN * kK / 4 + 4, std::byte{0x77}); }

/// Every weight of the imported tensor, by a product with X = 1.
void expect_weights(const std::vector<std::byte>& imported, float unit, Shape shape = kShape) {
  const auto [N, K] = shape;
  Context context;
  context.registry = &registry();
  Matrix x(K, K);
  for (std::size_t i = 0; i < K * K; ++i) x.at(i / K, i % K) = i / K == i % K ? 1.0f : 0.0f;
  Matrix y(K, N);
  const WeightView w{DType::bitnet_b158, N, K, imported.data(), imported.size(), 0};
  ASSERT_TRUE(matmul(w, x.view(), y.view(), context, {.compute = Compute::f32}));
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t n = 0; n < N; ++n) {
      ASSERT_EQ(y.at(k, n), static_cast<float>(static_cast<int>(code_of(n, k)) - 1) * unit)
          << "row " << n << " k " << k;
    }
  }
}

class Import : public testing::TestWithParam<I2sLayout> {
 protected:
  /// The status of an import that must fail, and leave its output alone.
  static Status refused(const I2sTensor& t) {
    std::vector<std::byte> out = room();
    Status s = import_i2s(t, out);
    EXPECT_FALSE(s);
    EXPECT_EQ(out, room());
    return s;
  }
};

TEST_P(Import, ReadsEveryWeightWithAScaleThatMultiplies) {
  const std::vector<std::byte> bytes = with_tail(GetParam(), 0.375f);
  std::vector<std::byte> out = room();
  const Status s = import_i2s({GetParam(), I2sScale::tail, kN, kK, bytes, 0}, out);
  ASSERT_TRUE(s) << s.message();
  expect_weights(out, 0.375f);
}

TEST_P(Import, ReadsEveryWeightWithAScaleThatDivides) {
  const std::vector<std::byte> bytes = codes(GetParam());
  std::vector<std::byte> out = room();
  const Status s = import_i2s({GetParam(), I2sScale::companion, kN, kK, bytes, 8.0f}, out);
  ASSERT_TRUE(s) << s.message();
  expect_weights(out, 0.125f);
}

/// Rows that begin inside a byte, groups that cross rows, and lengths that are no multiple of the eight codes which
/// the importer takes at a time.
TEST_P(Import, ReadsEveryWeightOfAnyShape) {
  constexpr Shape kGroups[] = {{128, 3}, {64, 10}, {384, 1}};
  constexpr Shape kRows[] = {{4, 1}, {8, 5}, {12, 37}, {4, 9}, {8, 67}};
  constexpr Shape kAny[] = {{1, 1}, {1, 3}, {3, 33}, {5, 7}, {2, 3}, {7, 129}};
  std::vector<Shape> shapes(std::begin(kGroups), std::end(kGroups));
  if (GetParam() == I2sLayout::rows4) shapes.assign(std::begin(kRows), std::end(kRows));
  if (GetParam() == I2sLayout::sequential) shapes.assign(std::begin(kAny), std::end(kAny));
  for (const Shape shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.N << " x " << shape.K);
    const std::vector<std::byte> bytes = codes(GetParam(), shape);
    const std::size_t size = (shape.N * shape.K + 3) / 4 + 4;
    std::vector<std::byte> out(size + 1, std::byte{0x77});
    const Status s = import_i2s({GetParam(), I2sScale::companion, shape.N, shape.K, bytes, 4.0f}, out);
    ASSERT_TRUE(s) << s.message();
    EXPECT_EQ(out.back(), std::byte{0x77});
    out.pop_back();
    ASSERT_NO_FATAL_FAILURE(expect_weights(out, 0.25f, shape));
    if (shape.N * shape.K % 4 != 0) {
      EXPECT_EQ(std::to_integer<unsigned>(out[size - 5]) >> (2 * (shape.N * shape.K % 4)), 0u) << "bits of no element";
    }
  }
}

/// One code 3, wherever it is.
TEST_P(Import, EveryCode3IsFound) {
  const Shape shape = GetParam() == I2sLayout::sequential ? Shape{3, 23} : Shape{8, 16};
  const std::vector<std::byte> good = codes(GetParam(), shape);
  for (std::size_t i = 0; i < 4 * good.size(); ++i) {
    std::vector<std::byte> bytes = good;
    bytes[i / 4] |= static_cast<std::byte>(3u << (2 * (i % 4)));
    const bool beyond = GetParam() == I2sLayout::sequential && i >= shape.N * shape.K;
    std::vector<std::byte> out = room();
    EXPECT_EQ(import_i2s({GetParam(), I2sScale::companion, shape.N, shape.K, bytes, 1.0f}, out).code(),
              beyond ? StatusCode::ok : StatusCode::invalid_data)
        << i;
  }
}

TEST_P(Import, ACode3IsRefusedWithItsPosition) {
  std::vector<std::byte> bytes = with_tail(GetParam(), 1.0f);
  // Row 6, element 301 is element 2605 of the tensor.
  std::size_t byte = 2605 / 4;
  unsigned shift = 2 * (2605 % 4);
  if (GetParam() == I2sLayout::group128) byte = 20 * 32 + 13, shift = 4;  // 2605 = 20 * 128 + 32 + 13
  if (GetParam() == I2sLayout::group64) byte = 40 * 16 + 13, shift = 2;   // 2605 = 40 * 64 + 32 + 13
  if (GetParam() == I2sLayout::rows4) byte = 384 + 301, shift = 2;        // row 6 is the third of rows 4 .. 7
  bytes[byte] |= static_cast<std::byte>(3u << shift);
  const Status s = refused({GetParam(), I2sScale::tail, kN, kK, bytes, 0});
  EXPECT_EQ(s.code(), StatusCode::invalid_data);
  EXPECT_NE(s.message().find("row 6, element 301"), std::string::npos) << s.message();
}

TEST_P(Import, RefusesWhatDoesNotFit) {
  const std::vector<std::byte> bytes = with_tail(GetParam(), 1.0f);
  const std::span<const std::byte> all = bytes;
  const auto tensor = [&](std::span<const std::byte> data) {
    return I2sTensor{GetParam(), I2sScale::tail, kN, kK, data, 0};
  };
  EXPECT_EQ(refused(tensor(all.first(all.size() - 1))).code(), StatusCode::buffer_too_small);
  std::vector<std::byte> small(kN * kK / 4 + 3);
  EXPECT_EQ(import_i2s(tensor(all), small).code(), StatusCode::buffer_too_small);
  I2sTensor huge = tensor(all);
  huge.N = huge.K = std::size_t{1} << 40;
  EXPECT_EQ(refused(huge).code(), StatusCode::shape_mismatch);
  I2sTensor odd = tensor(all);
  odd.N = 3;
  odd.K = 33;
  std::vector<std::byte> out = room();
  EXPECT_EQ(import_i2s(odd, out).code(),
            GetParam() == I2sLayout::sequential ? StatusCode::ok : StatusCode::shape_mismatch);
}

TEST_P(Import, RefusesToWriteWhatItReads) {
  std::vector<std::byte> bytes = with_tail(GetParam(), 1.0f);
  const std::size_t read = bytes.size();
  bytes.resize(3 * read);
  const std::span<std::byte> all = bytes;
  const I2sTensor tensor{GetParam(), I2sScale::tail, kN, kK, all, 0};
  EXPECT_EQ(import_i2s(tensor, all).message(), "out shares memory with tensor.data");
  EXPECT_EQ(import_i2s(tensor, all.subspan(read - 1)).code(), StatusCode::invalid_argument);
  EXPECT_TRUE(import_i2s(tensor, all.subspan(read))) << "the bytes behind the tail are not looked at";
}

TEST_P(Import, RefusesScalesThatAreNone) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), kInf, -kInf}) {
    const std::vector<std::byte> bytes = with_tail(GetParam(), bad);
    EXPECT_EQ(refused({GetParam(), I2sScale::tail, kN, kK, bytes, 0}).code(), StatusCode::invalid_data);
  }
  const std::vector<std::byte> bytes = codes(GetParam());
  for (const float bad : {std::nanf(""), kInf, 0.0f, -0.0f, 1e-45f}) {
    const Status s = refused({GetParam(), I2sScale::companion, kN, kK, bytes, bad});
    EXPECT_EQ(s.code(), StatusCode::invalid_argument);
    EXPECT_NE(s.message().find("divided by the companion scale, which is "), std::string::npos) << s.message();
  }
}

TEST_P(Import, FromAFileThatIsToldWhatItIs) {
  const std::vector<std::byte> bytes = with_tail(GetParam(), 0.5f);
  GgufBuilder file;
  file.header(2, 0).tensor("w", {kK, kN}, 36, 0).tensor("w_scale", {1}, 0, (bytes.size() + 31) / 32 * 32).pad();
  for (const std::byte b : bytes) file.byte(std::to_integer<unsigned>(b));
  file.pad().word(0x40800000);  // 4.0f
  const auto parsed = gguf::File::parse(file.bytes());
  ASSERT_TRUE(parsed) << parsed.status().message();
  const gguf::Tensor& tensor = *parsed->find("w");
  EXPECT_EQ(tensor.weights().status().code(), StatusCode::unsupported);
  for (const I2sScale scale : {I2sScale::tail, I2sScale::companion}) {
    const auto source = gguf::i2s_tensor(*parsed, tensor, GetParam(), scale);
    ASSERT_TRUE(source) << source.status().message();
    std::vector<std::byte> out = room();
    ASSERT_TRUE(import_i2s(*source, out));
    expect_weights(out, scale == I2sScale::tail ? 0.5f : 0.25f);
  }
  EXPECT_EQ(gguf::i2s_tensor(*parsed, tensor, static_cast<I2sLayout>(9), I2sScale::tail).status().code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(gguf::i2s_tensor(*parsed, tensor, GetParam(), static_cast<I2sScale>(9)).status().code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(gguf::i2s_tensor(*parsed, *parsed->find("w_scale"), GetParam(), I2sScale::tail).status().code(),
            StatusCode::unsupported);
  gguf::Tensor alone = tensor;
  alone.name = "other";
  EXPECT_EQ(gguf::i2s_tensor(*parsed, alone, GetParam(), I2sScale::companion).status().code(), StatusCode::not_found);
}

std::string layout_name(const testing::TestParamInfo<I2sLayout>& p) {
  constexpr const char* kNames[] = {"group128", "group64", "rows4", "sequential"};
  return kNames[static_cast<std::size_t>(p.param)];
}
INSTANTIATE_TEST_SUITE_P(Layouts, Import, testing::ValuesIn(kLayouts), layout_name);

TEST(ImportEnums, AreChecked) {
  const std::vector<std::byte> bytes = with_tail(I2sLayout::group128, 1.0f);
  std::vector<std::byte> out = room();
  EXPECT_EQ(import_i2s({static_cast<I2sLayout>(9), I2sScale::tail, kN, kK, bytes, 0}, out).code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(import_i2s({I2sLayout::group128, static_cast<I2sScale>(9), kN, kK, bytes, 0}, out).code(),
            StatusCode::invalid_argument);
}

TEST(ImportEmpty, NeedsOnlyItsScale) {
  std::vector<std::byte> out(4);
  EXPECT_TRUE(import_i2s({I2sLayout::rows4, I2sScale::companion, 0, 5, {}, 2.0f}, out));
  EXPECT_EQ(import_i2s({I2sLayout::rows4, I2sScale::tail, 0, 5, {}, 0}, out).code(), StatusCode::buffer_too_small);
}

}  // namespace
}  // namespace nibblas::test
