// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "formats/golden_files.hpp"
#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

using test::golden_input;
using test::kGoldenK;
using test::kGoldenRows;
using test::rmse;

std::vector<float> round_trip(DType t, const std::vector<float>& x, std::size_t K) {
  const std::size_t N = x.size() / K;
  std::vector<std::byte> bytes(*tensor_bytes(t, N, K));
  std::vector<float> y(x.size());
  EXPECT_TRUE(quantize(t, {x.data(), N, K}, bytes).ok());
  EXPECT_TRUE(dequantize({t, N, K, bytes.data(), bytes.size(), 0}, 0, {y.data(), N, K}).ok());
  return y;
}

class KQuant : public ::testing::TestWithParam<DType> {};

TEST_P(KQuant, NoGoldenRowIsWorseThanGgmls) {
  const DType t = GetParam();
  const std::vector<float> x = golden_input();
  const std::vector<float> theirs = test::read_golden<float>("dequant_" + std::string(to_string(t)) + ".f32");
  const std::vector<float> ours = round_trip(t, x, kGoldenK);
  double log_ratio = 0;
  for (std::size_t r = 0; r < kGoldenRows; ++r) {
    const std::size_t at = r * kGoldenK;
    const double our_error = rmse(&ours[at], &x[at], kGoldenK);
    const double their_error = rmse(&theirs[at], &x[at], kGoldenK);
    EXPECT_LE(our_error, their_error) << "row " << r << " " << test::golden_row_name(r);
    if (r < 28) log_ratio += std::log(our_error / their_error) / 28;  // the random rows
  }
  EXPECT_LT(std::exp(log_ratio), 0.86) << "the search has lost what it gains over ggml's";
}

/// The same bytes from every compiler and CPU; a change of the search changes them on purpose.
TEST_P(KQuant, BytesOfTheGoldenRows) {
  const DType t = GetParam();
  const std::vector<float> x = golden_input();
  std::vector<std::byte> bytes(*tensor_bytes(t, kGoldenRows, kGoldenK));
  ASSERT_TRUE(quantize(t, {x.data(), kGoldenRows, kGoldenK}, bytes).ok());
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
  const std::uint64_t want = t == DType::q4_k   ? 0x2e7b2a42fc45d0a9u
                             : t == DType::q5_k ? 0x13d501ac2ba821e1u
                                                : 0x94adf4cd19bfb51fu;
  EXPECT_EQ(hash, want) << std::hex << "0x" << hash;
}

TEST_P(KQuant, DenormalAndZeroRowsAreZeroBlocks) {
  const DType t = GetParam();
  const std::vector<float> x = golden_input();
  for (const char* name : {"zeros", "negative_zero", "fp32_denormal"}) {
    std::vector<std::byte> bytes(*row_bytes(t, kGoldenK), std::byte{0xa5});
    ASSERT_TRUE(quantize(t, {&x[test::golden_row(name) * kGoldenK], 1, kGoldenK}, bytes).ok());
    std::vector<float> y(kGoldenK, 1.0f);
    ASSERT_TRUE(dequantize({t, 1, kGoldenK, bytes.data(), bytes.size(), 0}, 0, {y.data(), 1, kGoldenK}).ok());
    for (const float v : y) ASSERT_EQ(v, 0.0f) << name;
    const std::size_t d = t == DType::q6_k ? 208 : 0;
    EXPECT_EQ(bytes[d] | bytes[d + 1], std::byte{0}) << name;
  }
}

/// Where d would underflow in f16, ggml writes zeros; the smallest d with small codes keeps some of the signal.
TEST_P(KQuant, SmallAmplitudesSurviveF16Scales) {
  const DType t = GetParam();
  std::mt19937 rng(6);
  std::normal_distribution<float> gaussian(0.0f, 1e-6f);
  std::vector<float> x(1024);
  for (float& v : x) v = gaussian(rng);
  const std::vector<float> y = round_trip(t, x, 1024);
  EXPECT_LT(rmse(x.data(), y.data(), 1024), 0.3e-6);
}

/// Values on a grid that the format holds exactly.
TEST_P(KQuant, ExactGrid) {
  const DType t = GetParam();
  const int low = t == DType::q6_k ? -32 : 0;
  const int high = t == DType::q4_k ? 15 : 31;
  const int width = high - low + 1;
  std::vector<float> x(512);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t in_sub = i % (t == DType::q6_k ? 16 : 32);
    const int q = low + static_cast<int>(in_sub * 7) % width;
    // d = 2^-10 and the largest scale there is, in every sub-block; both ends of the grid occur.
    x[i] = static_cast<float>(in_sub == 0 ? low : in_sub == 1 ? high : q) * (t == DType::q6_k ? -128.0f : 63.0f) / 1024;
  }
  EXPECT_EQ(round_trip(t, x, 512), x);
}

TEST_P(KQuant, Constants) {
  const DType t = GetParam();
  for (const float c : {1.0f, -1.0f, 0.3f, -1e-3f, 1e4f, -1e6f}) {
    const std::vector<float> x(256, c);
    const std::vector<float> y = round_trip(t, x, 256);
    EXPECT_LE(rmse(x.data(), y.data(), 256), std::fabs(static_cast<double>(c)) * 0x1p-9) << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, KQuant, ::testing::Values(DType::q4_k, DType::q5_k, DType::q6_k),
                         [](const auto& i) { return std::string(to_string(i.param)); });

/// More bits, less error: on Gaussian, heavy-tailed, one-sided and uniform data.
TEST(Ranking, FollowsTheBits) {
  const DType order[] = {DType::q8_0, DType::q6_k, DType::q5_k, DType::q4_k, DType::q4_0};
  std::mt19937 rng(8);
  std::normal_distribution<float> gaussian;
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<float> x(16 * 1024);
    for (float& v : x) {
      v = gaussian(rng);
      if (kind == 1) v = v * v * v;
      if (kind == 2) v = std::fabs(v);
      if (kind == 3) v = uniform(rng);
    }
    double previous = 0;
    for (const DType t : order) {
      const std::vector<float> y = round_trip(t, x, 1024);
      const double error = rmse(x.data(), y.data(), x.size());
      EXPECT_GT(error, previous) << to_string(t) << " on kind " << kind;
      previous = error;
    }
  }
}

}  // namespace
}  // namespace nibblas
