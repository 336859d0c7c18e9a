// SPDX-License-Identifier: Apache-2.0
#include "ternary/exact_codes.hpp"

#include <cstring>

#include "nibblas/formats.hpp"
#include "support/fill.hpp"

namespace nibblas::test {
namespace {

unsigned at(const std::byte* p, std::size_t i) { return std::to_integer<unsigned>(p[i]); }

/// Digits by division: the byte is a fraction of 256 and each digit the integer part of three times what is left.
int tq1_0_digit(unsigned byte, std::size_t n) {
  unsigned rest = byte;
  unsigned digit = 0;
  for (std::size_t i = 0; i <= n; ++i) {
    digit = rest * 3 / 256;
    rest = rest * 3 % 256;
  }
  return static_cast<int>(digit);
}

int tq1_0_code(const std::byte* block, std::size_t e) {
  if (e < 160) return tq1_0_digit(at(block, e % 32), e / 32);
  if (e < 240) return tq1_0_digit(at(block, 32 + (e - 160) % 16), (e - 160) / 16);
  return tq1_0_digit(at(block, 48 + (e - 240) % 4), (e - 240) / 4);
}

int tq2_0_code(const std::byte* block, std::size_t e) {
  return static_cast<int>(at(block, e / 128 * 32 + e % 32) >> (e % 128 / 32 * 2) & 3u);
}

ExactCodes block_codes(ExactCodes t, const std::function<std::uint8_t(std::size_t)>& code_byte,
                       const std::function<float(std::size_t)>& scale) {
  const std::size_t size = t.dtype == DType::tq1_0 ? 54 : 66;
  t.bytes.resize(t.N * t.K / 256 * size);
  for (std::size_t b = 0; b < t.N * t.K / 256; ++b) {
    std::byte* block = t.bytes.data() + b * size;
    for (std::size_t i = 0; i + 2 < size; ++i) block[i] = static_cast<std::byte>(code_byte(b * (size - 2) + i));
    const std::uint16_t d = f32_to_f16(scale(b));
    std::memcpy(block + size - 2, &d, sizeof d);
    for (std::size_t e = 0; e < 256; ++e) {
      const int code = t.dtype == DType::tq1_0 ? tq1_0_code(block, e) : tq2_0_code(block, e);
      t.w.push_back(static_cast<double>(scale(b)) * (code - 1));
    }
  }
  return t;
}

}  // namespace

ExactCodes exact_codes(DType dtype, std::size_t N, std::size_t K,
                       const std::function<std::uint8_t(std::size_t)>& code_byte,
                       const std::function<float(std::size_t)>& scale) {
  ExactCodes t{dtype, N, K, {}, {}};
  if (dtype != DType::bitnet_b158) return block_codes(std::move(t), code_byte, scale);
  for (std::size_t i = 0; i < (N * K + 3) / 4; ++i) t.bytes.push_back(static_cast<std::byte>(code_byte(i)));
  const float s = scale(0);
  t.bytes.resize(t.bytes.size() + sizeof s);
  std::memcpy(t.bytes.data() + t.bytes.size() - sizeof s, &s, sizeof s);
  for (std::size_t i = 0; i < N * K; ++i) {
    const int code = static_cast<int>(at(t.bytes.data(), i / 4) >> (i % 4 * 2) & 3u);
    t.w.push_back(static_cast<double>(s) * (code - 1));
  }
  return t;
}

std::vector<double> ExactCodes::times(ConstMatrixView x) const {
  std::vector<double> y;
  for (std::size_t m = 0; m < x.rows; ++m) {
    for (std::size_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += static_cast<double>(x.data[m * x.stride + k]) * w[n * K + k];
      y.push_back(sum);
    }
  }
  return y;
}

Matrix integer_input(std::size_t M, std::size_t K, std::uint64_t seed, std::size_t gap) {
  Matrix x(M, K, gap);
  Random random(seed);
  for (std::size_t m = 0; m < M; ++m) {
    for (std::size_t k = 0; k < K; ++k) {
      const auto v = static_cast<float>(static_cast<int>(random.below(255)) - 127);
      x.at(m, k) = k % 32 != 0 ? v : v < 0 ? -127.0f : 127.0f;
    }
  }
  return x;
}

}  // namespace nibblas::test
