// SPDX-License-Identifier: Apache-2.0
#include "support/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "nibblas/formats.hpp"
#include "nibblas/gguf.hpp"

namespace nibblas::test {
namespace {

WeightView view(DType t, std::size_t N, std::size_t K, const std::vector<std::byte>& bytes) {
  return {t, N, K, bytes.data(), bytes.size(), 0};
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> read_golden(const std::string& name) {
  std::ifstream file(std::string(NIBBLAS_GOLDEN_DIR) + "/" + name, std::ios::binary | std::ios::ate);
  std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

TEST(Oracle, HandComputedProduct) {
  const auto w = bytes_of({1, 2, 3, -4, 5, -6});
  const std::vector<float> x{1, 0, -1, /*next row, stride 4*/ 99, 2, 0.5f, -3};
  const auto o = make_oracle(view(DType::f32, 2, 3, w), {x.data(), 2, 3, 4});
  ASSERT_TRUE(o.ok()) << o.status().message();
  EXPECT_EQ(o->y, (std::vector<double>{-2, 2, -6, 12.5}));
  EXPECT_EQ(o->magnitude, (std::vector<double>{4, 10, 12, 28.5}));
  // dx = largest |x| / 127; half of it for each weight.
  EXPECT_DOUBLE_EQ(o->rounding32[0], 6.0 * (1.0 / 254));
  EXPECT_DOUBLE_EQ(o->rounding32[3], 15.0 * (3.0 / 254));
}

TEST(Oracle, RoundingHasOneStepEvery32AndOneARow) {
  std::vector<float> w(40, 1.0f);
  std::vector<float> x(40, 1.0f);
  x[39] = 10;  // in the short second block
  const auto bytes = bytes_of(w);
  const auto o = make_oracle(view(DType::f32, 1, 40, bytes), {x.data(), 1, 40});
  ASSERT_TRUE(o.ok());
  EXPECT_DOUBLE_EQ(o->rounding32[0], 32.0 / 254 + 8 * 10.0 / 254);
  EXPECT_DOUBLE_EQ(o->rounding_row[0], 40 * 10.0 / 254);
  EXPECT_EQ(o->y[0], 49);
}

TEST(Oracle, BoundsOfTheNumericsContract) {
  Oracle o;
  o.K = 4096;
  o.magnitude = {3};
  o.rounding32 = {0.25};
  o.rounding_row = {0.5};
  const double u = std::pow(2.0, -24);
  o.weights = DType::f16;
  EXPECT_DOUBLE_EQ(o.bound(Compute::f32, 0), (64 + 16 + 4 + 4) * u * 3);
  o.weights = DType::q4_k;
  EXPECT_DOUBLE_EQ(o.bound(Compute::f32, 0), (32 + 128 + 4) * u * 3);
  EXPECT_DOUBLE_EQ(o.bound(Compute::int8, 0), (32 + 128 + 4) * u * 3 + 0.25);
  EXPECT_DOUBLE_EQ(o.bound(Compute::int8_token, 0), (32 + 128 + 4) * u * 3 + 0.5);
  o.weights = DType::q6_k;
  EXPECT_DOUBLE_EQ(o.bound(Compute::f32, 0), (16 + 256 + 4) * u * 3);
}

// d = 2, dmin = 3; sub-block 0 has sc 5, m 7, sub-block 7 sc 63, m 33; codes cancel the minimum.
TEST(Oracle, MinimumCountsWhereItCancels) {
  std::vector<std::byte> block(144, std::byte{0});
  const auto put16 = [&](std::size_t at, float v) {
    const std::uint16_t h = f32_to_f16(v);
    std::memcpy(&block[at], &h, 2);
  };
  put16(0, 2);
  put16(2, 3);
  block[4 + 0] = std::byte{5};
  block[4 + 4] = std::byte{7};
  block[4 + 3] = std::byte{0b11'000000};  // high bits of sc of sub-block 7
  block[4 + 7] = std::byte{0b10'000000};  // high bits of its m
  block[4 + 11] = std::byte{0x1f};        // low bits: m = 1, sc = 15
  block[16] = std::byte{2};               // element 0: 2*5*2 - 3*7 = -1
  block[16 + 96] = std::byte{0x10};       // element 224: 2*63*1 - 3*33 = 27
  std::vector<float> x(256, 0.0f);
  x[0] = 1;
  x[224] = -1;
  const auto o = make_oracle(view(DType::q4_k, 1, 256, block), {x.data(), 1, 256});
  ASSERT_TRUE(o.ok()) << o.status().message();
  EXPECT_EQ(o->y[0], -1 - 27);
  EXPECT_EQ(o->magnitude[0], (20 + 21) + (126 + 99));
}

TEST(Oracle, ChosenRowsInTheirOrder) {
  const auto w = bytes_of({1, 2, 3, 4});
  const std::vector<float> x{10};
  const auto o = make_oracle(view(DType::f32, 4, 1, w), {x.data(), 1, 1}, {3, 1});
  ASSERT_TRUE(o.ok());
  EXPECT_EQ(o->y, (std::vector<double>{40, 20}));
  EXPECT_FALSE(make_oracle(view(DType::f32, 4, 1, w), {x.data(), 1, 1}, {4}).ok());
  EXPECT_EQ(make_oracle(view(DType::f32, 2, 2, w), {x.data(), 1, 1}).status().code(), StatusCode::shape_mismatch);
}

// Results of another program, made from ggml's decoder.
TEST(Oracle, AgreesWithGoldenProducts) {
  const auto file = gguf::File::open(std::string(NIBBLAS_GOLDEN_DIR) + "/golden.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto x = read_golden<float>("matmul_x_7x1536.f32");
  std::size_t compared = 0;
  for (const gguf::Tensor& t : file->tensors()) {
    const auto w = t.weights();
    ASSERT_TRUE(w.ok()) << t.name;
    const auto want = read_golden<double>("matmul_y_" + t.type_name() + "_7x50.f64");
    const auto o = make_oracle(*w, {x.data(), 7, 1536});
    ASSERT_TRUE(o.ok()) << o.status().message();
    ASSERT_EQ(o->y.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(o->y[i], want[i], 1e-12 * o->magnitude[i]) << t.name;
    ++compared;
  }
  EXPECT_EQ(compared, 10u);
}

struct Compared : testing::Test {
  Oracle oracle() {
    Oracle o;
    o.M = 1;
    o.K = 1024;
    o.rows = {0, 2};
    o.y = {3, 4};
    o.magnitude = o.rounding32 = o.rounding_row = {1, 1};
    return o;
  }
};

TEST_F(Compared, RelativeErrorAndWorstElement) {
  const std::vector<float> y{3, -77, 4.5f};  // row 1 is not checked
  const Comparison c = compare(oracle(), Compute::int8, {y.data(), 1, 3});
  EXPECT_TRUE(c.ok);
  EXPECT_EQ(c.checked, 2u);
  EXPECT_DOUBLE_EQ(c.rel_l2, 0.5 / 5);
  EXPECT_EQ(c.worst_n, 2u);
  EXPECT_NEAR(c.worst, 0.5, 1e-4);
}

TEST_F(Compared, OverTheBoundFails) {
  const Oracle o = oracle();
  const auto just = static_cast<float>(o.bound(Compute::int8, 1));
  const std::vector<float> under{3, 0, 4 + just * 0.999f};
  const std::vector<float> over{3, 0, 4 + just * 1.001f};
  EXPECT_TRUE(compare(o, Compute::int8, {under.data(), 1, 3}).ok);
  EXPECT_FALSE(compare(o, Compute::int8, {over.data(), 1, 3}).ok);
  EXPECT_FALSE(compare(o, Compute::f32, {under.data(), 1, 3}).ok);
}

TEST_F(Compared, NothingPassesWithNanOrInf) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> good{3, 0, 4};
  for (const float bad : {nan, inf, -inf}) {
    const std::vector<float> y{bad, 0, 4};
    EXPECT_FALSE(compare(oracle(), Compute::int8, {y.data(), 1, 3}).ok);
    Oracle poisoned = oracle();
    poisoned.y[0] = static_cast<double>(bad);
    EXPECT_FALSE(compare(poisoned, Compute::int8, {y.data(), 1, 3}).ok) << "both sides " << bad;
    EXPECT_FALSE(compare(poisoned, Compute::int8, {good.data(), 1, 3}).ok);
    Oracle unbounded = oracle();
    unbounded.magnitude[0] = static_cast<double>(bad);
    EXPECT_FALSE(compare(unbounded, Compute::int8, {good.data(), 1, 3}).ok);
  }
}

TEST_F(Compared, ZeroAgainstZeroIsNoError) {
  Oracle o = oracle();
  o.y = o.magnitude = o.rounding32 = {0, 0};
  const std::vector<float> zero{0, 0, -0.0f};
  const Comparison c = compare(o, Compute::int8, {zero.data(), 1, 3});
  EXPECT_TRUE(c.ok);
  EXPECT_EQ(c.rel_l2, 0);
  const std::vector<float> tiny{0, 0, 1e-30f};
  EXPECT_FALSE(compare(o, Compute::int8, {tiny.data(), 1, 3}).ok);
}

}  // namespace
}  // namespace nibblas::test
