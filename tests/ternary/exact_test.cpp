// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "nibblas/buffer.hpp"
#include "nibblas/matmul.hpp"
#include "parity/product.hpp"
#include "ternary/exact_codes.hpp"

// Every ternary kernel on integers: the result is exact in every compute, so it must equal a plain sum in double.

namespace nibblas::test {
namespace {

std::vector<Candidate> ternary_kernels() {
  std::vector<Candidate> all = all_kernels();
  std::erase_if(all, [](const Candidate& c) { return !is_legal(c.kernel->key.weights, Compute::int8_token); });
  return all;
}

std::uint8_t every_byte(std::size_t i) { return static_cast<std::uint8_t>(i * 167 + 13 * (i / 256)); }

class TernaryExact : public testing::TestWithParam<Candidate> {
 protected:
  TernaryExact() { context_.registry = &registry(); }
  DType dtype() const { return GetParam().kernel->key.weights; }
  bool any_k() const { return dtype() == DType::bitnet_b158; }

  void expect_exact(const WeightView& w, const ExactCodes& codes, const Matrix& x, std::size_t y_gap = 0) {
    const std::size_t M = x.view().rows;
    if (!GetParam().runs(M)) return;
    const std::vector<double> want = codes.times(x.view());
    const Result<PackedWeights> packed = PackedWeights::pack(w, context_, options_for(GetParam()));
    ASSERT_TRUE(packed) << packed.status().message();
    for (const bool zero_copy : {false, true}) {
      Matrix y(M, codes.N, y_gap);
      const Status s = zero_copy ? matmul(w, x.view(), y.view(), context_, options_for(GetParam()))
                                 : matmul(*packed, x.view(), y.view(), context_, options_for(GetParam()));
      ASSERT_TRUE(s) << s.message();
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(static_cast<double>(y.at(i / codes.N, i % codes.N)), want[i])
            << (zero_copy ? "zero-copy" : "packed") << ", M " << M << ", K " << codes.K << ", row " << i / codes.N
            << ", column " << i % codes.N;
      }
      EXPECT_TRUE(y.gaps_intact());
    }
    ++products_;
  }
  void TearDown() override { EXPECT_GT(products_, 0u); }

  Context context_;
  std::size_t products_ = 0;
};

TEST_P(TernaryExact, All256CodeBytes) {
  const ExactCodes w = exact_codes(dtype(), 35, 1280, every_byte, [](std::size_t) { return 0.5f; });
  for (const std::size_t M : {1u, 2u, 5u, 8u, 9u, 16u, 25u}) {
    ASSERT_NO_FATAL_FAILURE(expect_exact(w.view(), w, integer_input(M, 1280, M)));
  }
}

TEST_P(TernaryExact, ScalesOfEveryKind) {
  constexpr float kScales[] = {0.5f, -0.25f, 1.0f, 0.0f, -2.0f, -0.0f, 0.25f};
  for (std::size_t first = 0; first < std::size(kScales); ++first) {
    const ExactCodes w =
        exact_codes(dtype(), 19, 1024, every_byte, [&](std::size_t i) { return kScales[(first + i) % 7]; });
    for (const std::size_t M : {1u, 7u}) {
      ASSERT_NO_FATAL_FAILURE(expect_exact(w.view(), w, integer_input(M, 1024, first)));
    }
  }
}

TEST_P(TernaryExact, LengthsAroundEveryGroup) {
  constexpr std::size_t kLengths[] = {1,  2,  3,  4,   5,   6,   7,   8,   9,   15,  16,   17,   31,   32,   33,  63,
                                      64, 65, 70, 127, 255, 256, 257, 322, 512, 768, 1000, 1024, 1025, 1535, 2049};
  for (const std::size_t K : kLengths) {
    if (K % info(dtype()).block_elems != 0) continue;
    for (const std::size_t N : {1u, 16u, 33u}) {
      const ExactCodes w = exact_codes(dtype(), N, K, every_byte, [](std::size_t) { return -0.5f; });
      for (const std::size_t M : {1u, 3u, 17u}) {
        ASSERT_NO_FATAL_FAILURE(expect_exact(w.view(), w, integer_input(M, K, K)));
      }
    }
  }
}

TEST_P(TernaryExact, NoRowsNoTokensNoElements) {
  struct Shape {
    std::size_t M, N, K;
  };
  const std::size_t K = info(dtype()).block_elems;
  for (const auto& [m, n, k] : {Shape{0, 3, K}, Shape{3, 0, K}, Shape{0, 0, K}, Shape{2, 3, 0}, Shape{1, 16, 0}}) {
    const ExactCodes w = exact_codes(dtype(), n, k, every_byte, [](std::size_t) { return 0.5f; });
    ASSERT_NO_FATAL_FAILURE(expect_exact(w.view(), w, Matrix(m, k)));
    ++products_;
  }
}

/// A packed panel has a scale for each row, whatever file it came from.
TEST_P(TernaryExact, AScaleOfItsOwnForEachRow) {
  if (!any_k()) {
    ++products_;
    return;  // a scale for each 256 elements of each row: ScalesOfEveryKind
  }
  constexpr std::size_t N = 37;
  constexpr std::size_t K = 200;
  constexpr float kScales[] = {0.5f, -0.25f, 1.0f, 0.0f, -2.0f};
  ExactCodes w = exact_codes(dtype(), N, K, every_byte, [](std::size_t) { return 1.0f; });
  const WeightView view = w.view();
  const Result<PackedWeights> packed = PackedWeights::pack(view, context_, options_for(GetParam()));
  ASSERT_TRUE(packed) << packed.status().message();
  Buffer image(packed->bytes().size());
  std::copy(packed->bytes().begin(), packed->bytes().end(), image.data());
  const std::size_t panel = panel_layout(dtype()).panel_bytes(K);
  for (std::size_t n = 0; n < N; ++n) {
    const float scale = kScales[n % 5];
    std::byte* tail = image.data() + PackedWeights::kHeaderBytes + (n / 16 + 1) * panel - 64;
    std::memcpy(tail + n % 16 * 4, &scale, sizeof scale);
    for (std::size_t k = 0; k < K; ++k) w.w[n * K + k] *= static_cast<double>(scale);
  }
  const Result<PackedWeights> scaled = PackedWeights::from_bytes({image.data(), image.size()});
  ASSERT_TRUE(scaled) << scaled.status().message();
  for (const std::size_t M : {1u, 2u, 9u}) {
    if (!GetParam().runs(M)) continue;
    const Matrix x = integer_input(M, K, M);
    Matrix y(M, N);
    ASSERT_TRUE(matmul(*scaled, x.view(), y.view(), context_, options_for(GetParam())));
    const std::vector<double> want = w.times(x.view());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(static_cast<double>(y.at(i / N, i % N)), want[i]) << i;
    ++products_;
  }
}

/// Sums of 16 bits overflow after 43 products of a code 3 with 127; all of one sign, they come as near as they can.
TEST_P(TernaryExact, LargestSums) {
  constexpr std::size_t K = 32768;
  for (const auto byte : {std::uint8_t{0x00}, std::uint8_t{0xaa},
                          std::uint8_t{0xff}}) {  // codes 0, 2, 3; a tq1_0 byte of 255 is five digits 2
    const ExactCodes w = exact_codes(
        dtype(), 17, K, [&](std::size_t) { return byte; }, [](std::size_t) { return 1.0f; });
    for (const float sign : {127.0f, -127.0f}) {
      for (const std::size_t M : {1u, 4u}) {
        Matrix x(M, K);
        for (std::size_t i = 0; i < M * K; ++i) x.at(i / K, i % K) = sign;
        ASSERT_NO_FATAL_FAILURE(expect_exact(w.view(), w, x));
      }
    }
  }
}

TEST_P(TernaryExact, OffsetsAndStrides) {
  const std::size_t K = any_k() ? 999 : 1024;
  const ExactCodes w = exact_codes(dtype(), 18, K, every_byte, [](std::size_t) { return 0.25f; });
  for (std::size_t offset = 1; offset < 4; ++offset) {
    std::vector<std::byte> moved(w.bytes.size() + offset);
    std::copy(w.bytes.begin(), w.bytes.end(), moved.begin() + static_cast<std::ptrdiff_t>(offset));
    WeightView view = w.view();
    view.data = moved.data() + offset;
    for (const std::size_t M : {1u, 18u}) {
      ASSERT_NO_FATAL_FAILURE(expect_exact(view, w, integer_input(M, K, 1, 5 + offset), offset));
    }
  }
}

/// Panels, and rows of a tensor whose stride is not its length.
TEST_P(TernaryExact, StridedRows) {
  const std::size_t K = 512;
  const ExactCodes w = exact_codes(dtype(), 18, K, every_byte, [](std::size_t) { return 0.25f; });
  WeightView view = w.view();
  std::vector<std::byte> apart;
  if (!any_k()) {  // bitnet_b158 has no row stride
    const std::size_t row = w.bytes.size() / w.N;
    apart.assign(w.N * (row + 13), std::byte{0xff});
    for (std::size_t n = 0; n < w.N; ++n) std::copy_n(w.bytes.data() + n * row, row, apart.data() + n * (row + 13));
    view.data = apart.data();
    view.bytes = apart.size();
    view.row_stride = row + 13;
  }
  for (const std::size_t M : {1u, 6u}) ASSERT_NO_FATAL_FAILURE(expect_exact(view, w, integer_input(M, K, 2)));
}

INSTANTIATE_TEST_SUITE_P(Kernels, TernaryExact, testing::ValuesIn(ternary_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
