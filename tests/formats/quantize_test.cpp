// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "formats/golden_files.hpp"
#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class Quantize : public ::testing::TestWithParam<DType> {
 protected:
  const DType t = GetParam();
  static constexpr std::size_t N = 4, K = 512;
  std::vector<float> x = std::vector<float>(N * K, 0.25f);
  std::vector<std::byte> out = std::vector<std::byte>(*tensor_bytes(t, N, K), std::byte{0xa5});

  Status run() { return quantize(t, {x.data(), N, K}, out); }
  bool untouched() const {
    for (const std::byte b : out) {
      if (b != std::byte{0xa5}) return false;
    }
    return true;
  }
  std::vector<float> decoded() const {
    const WeightView w{t, N, K, out.data(), out.size(), 0};
    EXPECT_TRUE(validate(w).ok()) << validate(w).message();
    std::vector<float> y(N * K);
    EXPECT_TRUE(dequantize(w, 0, {y.data(), N, K}).ok());
    return y;
  }
};

TEST_P(Quantize, RefusesNonFiniteNamingWhere) {
  ASSERT_TRUE(can_quantize(t));
  for (const float bad : {kNaN, -kNaN, kInf, -kInf}) {
    for (const std::size_t at : {std::size_t{0}, K + 37, N * K - 1}) {
      x[at] = bad;
      const Status s = run();
      EXPECT_EQ(s.code(), StatusCode::invalid_argument);
      const std::string want = "row " + std::to_string(at / K) + ", column " + std::to_string(at % K) + " is ";
      EXPECT_NE(s.message().find(want), std::string::npos) << s.message();
      EXPECT_TRUE(untouched());
      x[at] = 0.25f;
    }
  }
}

/// Up to the documented magnitude every scale is finite; the next f32 is refused.
TEST_P(Quantize, LargestMagnitude) {
  float limit = 0;
  switch (t) {
    case DType::f16:
    case DType::tq1_0:
    case DType::tq2_0:
      limit = std::nextafter(65520.0f, 0.0f);
      break;
    case DType::bf16:
      limit = std::nextafter(0x1.ffp127f, 0.0f);
      break;
    case DType::q8_0:
      limit = std::nextafter(65520.0f * 127.0f, 0.0f);
      break;
    case DType::q4_0:
      limit = std::nextafter(65520.0f * 8.0f, 0.0f);
      break;
    case DType::q4_k:
    case DType::q5_k:
    case DType::q6_k:
      limit = 65504.0f * 63.0f;
      break;
    default:
      limit = std::numeric_limits<float>::max();
  }
  for (const float sign : {1.0f, -1.0f}) {
    for (float& v : x) v = sign * limit;
    x[3] = -x[3];
    out.assign(out.size(), std::byte{0xa5});
    ASSERT_TRUE(run().ok()) << run().message();
    for (const float v : decoded()) ASSERT_TRUE(std::isfinite(v));
    if (limit == std::numeric_limits<float>::max()) continue;
    out.assign(out.size(), std::byte{0xa5});
    x[2 * K + 5] = sign * std::nextafter(limit, kInf);
    const Status s = run();
    EXPECT_EQ(s.code(), StatusCode::invalid_argument);
    EXPECT_NE(s.message().find("row 2, column 5 is "), std::string::npos) << s.message();
    EXPECT_TRUE(untouched());
  }
}

TEST_P(Quantize, ShapesAndBuffers) {
  out.resize(out.size() - 1);
  EXPECT_EQ(run().code(), StatusCode::buffer_too_small);
  EXPECT_TRUE(untouched());
  out.resize(out.size() + 9, std::byte{0xa5});
  EXPECT_EQ(quantize(t, {nullptr, N, K}, out).code(), StatusCode::invalid_argument);
  EXPECT_EQ(quantize(t, {x.data(), N, K, K - 1}, out).code(), StatusCode::invalid_argument);
  if (info(t).block_elems > 1) {
    EXPECT_EQ(quantize(t, {x.data(), 2, K - 1}, out).code(), StatusCode::shape_mismatch);
  }
  EXPECT_EQ(quantize(t, {x.data(), ~std::size_t{0} / 2, K}, out).code(), StatusCode::shape_mismatch);
  EXPECT_TRUE(untouched());
  EXPECT_TRUE(quantize(t, {nullptr, 0, K}, out).ok());
  EXPECT_TRUE(quantize(t, {nullptr, 5, 0}, out).ok());
}

TEST_P(Quantize, RefusesToWriteWhatItReads) {
  const std::vector<float> before = x;
  const std::size_t bytes = *tensor_bytes(t, N, K);
  const Status s = quantize(t, {x.data(), N, K}, {reinterpret_cast<std::byte*>(x.data()), bytes});
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_EQ(s.message(), "out shares memory with x");
  EXPECT_EQ(x, before);
}

TEST_P(Quantize, ZerosDecodeToZeros) {
  for (const float pattern : {0.0f, -0.0f}) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? -pattern : pattern;
    ASSERT_TRUE(run().ok());
    for (const float v : decoded()) ASSERT_EQ(v, 0.0f);
  }
}

/// Amplitudes down to the smallest subnormal, a different one in each 32: valid bytes, and no error beyond the value
/// (the codes of ggml's formats may overshoot where the f16 scale was rounded up from near nothing).
TEST_P(Quantize, TinyAmplitudes) {
  std::mt19937 rng(3);
  std::normal_distribution<float> gaussian;
  for (int power = -46; power <= -4; ++power) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int p = power + static_cast<int>(i / 32 % 3);
      x[i] = static_cast<float>(static_cast<double>(gaussian(rng)) * std::pow(10.0, p));
    }
    ASSERT_TRUE(run().ok());
    const std::vector<float> y = decoded();
    std::vector<float> zero(x.size());
    for (std::size_t i = 0; i < x.size(); i += 256) {
      for (std::size_t j = i; j < i + 256; ++j) ASSERT_TRUE(std::isfinite(y[j]));
      if (t == DType::bitnet_b158) continue;
      const double scale = test::rmse(&x[i], &zero[i], 256);
      // The largest value may be four times the RMS and more, and only ternary codes are that coarse.
      const double bound = t == DType::tq1_0 || t == DType::tq2_0 ? 2.5 : 1.01;
      EXPECT_LE(test::rmse(&x[i], &y[i], 256), bound * scale) << power;
    }
  }
}

/// A row's bytes do not depend on its neighbours; bitnet_b158's do, by its one scale, and so do only those.
TEST_P(Quantize, EachRowAlone) {
  const std::vector<float> golden = test::golden_input();
  std::copy_n(golden.begin(), x.size(), x.begin());
  ASSERT_TRUE(run().ok());
  const std::size_t row = *tensor_bytes(t, 1, K);
  bool same = true;
  for (std::size_t r = 0; r < N; ++r) {
    std::vector<std::byte> alone(row);
    ASSERT_TRUE(quantize(t, {&x[r * K], 1, K}, alone).ok());
    const std::size_t at = t == DType::bitnet_b158 ? r * (K / 4) : r * row;
    same = same && std::memcmp(alone.data(), &out[at], row) == 0;
  }
  EXPECT_EQ(same, t != DType::bitnet_b158);
}

std::vector<DType> all_formats() {
  std::vector<DType> v;
  for (const DTypeInfo& i : kDTypes) v.push_back(i.dtype);
  return v;
}

INSTANTIATE_TEST_SUITE_P(Formats, Quantize, ::testing::ValuesIn(all_formats()),
                         [](const auto& i) { return std::string(to_string(i.param)); });

/// Ties of x / d: with d = 1 the codes are x rounded, halves away from zero.
TEST(QuantizeRules, Q8_0RoundsHalvesAway) {
  std::vector<float> x(32, 0.0f);
  const float in[] = {127.0f, 0.5f, -0.5f, 1.5f, -1.5f, 2.5f, 0.49999997f, -0.49999997f, 126.5f, -126.5f};
  const int want[] = {127, 1, -1, 2, -2, 3, 0, 0, 127, -127};
  std::copy(std::begin(in), std::end(in), x.begin());
  std::vector<std::byte> out(34);
  ASSERT_TRUE(quantize(DType::q8_0, {x.data(), 1, 32}, out).ok());
  for (std::size_t i = 0; i < std::size(in); ++i) {
    EXPECT_EQ(static_cast<std::int8_t>(out[2 + i]), want[i]) << in[i];
  }
}

TEST(QuantizeRules, Q4_0TakesTheFirstOfEqualMagnitudes) {
  std::vector<float> x(32, 0.0f);
  x[3] = 2.0f;
  x[9] = -2.0f;
  std::vector<std::byte> out(18);
  ASSERT_TRUE(quantize(DType::q4_0, {x.data(), 1, 32}, out).ok());
  EXPECT_EQ(out[1], std::byte{0xb4});  // d = 2 / -8 = -0.25
  EXPECT_EQ(out[2 + 3] & std::byte{15}, std::byte{0});
  EXPECT_EQ(out[2 + 9] & std::byte{15}, std::byte{15});
}

/// Multiplying by the scale, not dividing: ternary values times a power of two come back exactly.
TEST(QuantizeRules, TernaryValuesComeBack) {
  std::mt19937 rng(4);
  for (const DType t : {DType::tq1_0, DType::tq2_0}) {
    for (const float s : {0.125f, 1.0f, 64.0f}) {
      std::vector<float> x(2 * 512), y(2 * 512);
      for (float& v : x) v = s * static_cast<float>(static_cast<int>(rng() % 3) - 1);
      std::vector<std::byte> out(*tensor_bytes(t, 2, 512));
      ASSERT_TRUE(quantize(t, {x.data(), 2, 512}, out).ok());
      ASSERT_TRUE(dequantize({t, 2, 512, out.data(), out.size(), 0}, 0, {y.data(), 2, 512}).ok());
      EXPECT_EQ(x, y);
    }
  }
}

TEST(QuantizeRules, BitnetScaleIsTheMean) {
  const std::size_t N = 3, K = 7;
  std::mt19937 rng(5);
  std::normal_distribution<float> gaussian;
  std::vector<float> x(N * K);
  double sum = 0;
  for (float& v : x) {
    v = gaussian(rng);
    sum += std::fabs(static_cast<double>(v));
  }
  std::vector<std::byte> out(6 + 4, std::byte{0xff});
  ASSERT_TRUE(quantize(DType::bitnet_b158, {x.data(), N, K}, out).ok());
  float scale = 0;
  std::memcpy(&scale, &out[6], 4);
  EXPECT_EQ(scale, static_cast<float>(sum / (N * K)));
  for (std::size_t i = 0; i < N * K; ++i) {
    const double ratio = static_cast<double>(x[i]) / static_cast<double>(scale);
    const double want = std::fmin(std::fmax(std::nearbyint(ratio), -1.0), 1.0) + 1.0;
    EXPECT_EQ(std::to_integer<int>(out[i / 4]) >> (i % 4 * 2) & 3, static_cast<int>(want)) << x[i];
  }
  EXPECT_EQ(out[5] >> 2, std::byte{0});  // nothing behind the last code
}

TEST(QuantizeRules, BitnetTiesAndZeros) {
  // mean |x| = 1, so 0.5 and 1.5 are ties (to 0 and to 2, clamped to 1).
  const std::vector<float> x = {0.5f, -0.5f, 1.5f, -1.5f};
  std::vector<std::byte> out(5);
  ASSERT_TRUE(quantize(DType::bitnet_b158, {x.data(), 1, 4}, out).ok());
  EXPECT_EQ(out[0], std::byte{0b00'10'01'01});
  const std::vector<float> zero(4, -0.0f);
  ASSERT_TRUE(quantize(DType::bitnet_b158, {zero.data(), 1, 4}, out).ok());
  EXPECT_EQ(out[0], std::byte{0x55});
  EXPECT_EQ(out[4], std::byte{0});
}

TEST(QuantizeRules, GarbageFormat) {
  const float x = 1.0f;
  std::byte out[64] = {};
  EXPECT_EQ(quantize(static_cast<DType>(200), {&x, 1, 1}, out).code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace nibblas
