// SPDX-License-Identifier: Apache-2.0
#include "driver/exact_problem.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

#include "support/fill.hpp"

namespace nibblas::test {
namespace {

constexpr std::uint32_t kPoison = 0x7fa5a5a5;

float poison() { return std::bit_cast<float>(kPoison); }
bool is_poison(const float& f) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof bits);
  return bits == kPoison;
}

void put(std::vector<std::byte>& out, unsigned value, std::size_t bytes = 1) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

constexpr unsigned kHalfOne = 0x3c00;  // 1.0 as f16

/// binary16 of a small integer.
unsigned half(int v) {
  if (v == 0) return 0;
  const unsigned sign = v < 0 ? 0x8000u : 0u;
  const auto magnitude = static_cast<unsigned>(v < 0 ? -v : v);
  const auto exponent = static_cast<unsigned>(std::bit_width(magnitude)) - 1;
  return sign | ((exponent + 15) << 10) | (((magnitude << 10) >> exponent) & 0x3ffu);
}

/// One row of integers as the bytes of a file.
void put_row(DType t, const int* q, std::size_t K, std::vector<std::byte>& out) {
  const auto at = [q](std::size_t k, int offset) { return static_cast<unsigned>(q[k] + offset); };
  switch (t) {
    case DType::f32:
      for (std::size_t k = 0; k < K; ++k) put(out, std::bit_cast<std::uint32_t>(static_cast<float>(q[k])), 4);
      return;
    case DType::f16:
      for (std::size_t k = 0; k < K; ++k) put(out, half(q[k]), 2);
      return;
    case DType::bf16:
      for (std::size_t k = 0; k < K; ++k) put(out, std::bit_cast<std::uint32_t>(static_cast<float>(q[k])) >> 16, 2);
      return;
    case DType::q8_0:
      for (std::size_t b = 0; b < K; b += 32) {
        put(out, kHalfOne, 2);
        for (std::size_t i = 0; i < 32; ++i) put(out, at(b + i, 0) & 0xffu);
      }
      return;
    case DType::q4_0:
      for (std::size_t b = 0; b < K; b += 32) {
        put(out, kHalfOne, 2);
        for (std::size_t i = 0; i < 16; ++i) put(out, at(b + i, 8) | at(b + 16 + i, 8) << 4);
      }
      return;
    case DType::tq2_0:
      for (std::size_t b = 0; b < K; b += 256) {
        for (std::size_t j = 0; j < 64; ++j) {
          const std::size_t first = b + j / 32 * 128 + j % 32;
          unsigned byte = 0;
          for (std::size_t l = 0; l < 4; ++l) byte |= at(first + 32 * l, 1) << (2 * l);
          put(out, byte);
        }
        put(out, kHalfOne, 2);
      }
      return;
    default:
      throw std::invalid_argument("ExactProblem: format");
  }
}

void put_stream(const std::vector<int>& q, std::vector<std::byte>& out) {
  for (std::size_t i = 0; i < q.size(); i += 4) {
    unsigned byte = 0;
    for (std::size_t j = i; j < i + 4 && j < q.size(); ++j) byte |= static_cast<unsigned>(q[j] + 1) << (2 * (j - i));
    put(out, byte);
  }
  put(out, std::bit_cast<std::uint32_t>(1.0f), 4);
}

}  // namespace

ExactProblem::ExactProblem(DType t, std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed)
    : dtype(t), M(m), N(n), K(k), x(m * k), want(m * n) {
  Random random(seed);
  const bool ternary = t == DType::tq2_0 || t == DType::bitnet_b158;
  std::vector<int> q(N * K);
  for (int& v : q) v = static_cast<int>(random.below(ternary ? 3 : 16)) - (ternary ? 1 : 8);
  if (t == DType::bitnet_b158) {
    put_stream(q, w);
  } else {
    for (std::size_t r = 0; r < N; ++r) put_row(t, q.data() + r * K, K, w);
  }
  std::vector<int> xi(M * K);
  for (int& v : xi) v = static_cast<int>(random.below(255)) - 127;
  for (std::size_t r = 0; r < M; ++r) {
    for (std::size_t b = 0; b < K; b += 32) xi[r * K + b + random.below(std::min<std::size_t>(32, K - b))] = 127;
  }
  for (std::size_t i = 0; i < xi.size(); ++i) x[i] = static_cast<float>(xi[i]);
  for (std::size_t i = 0; i < M; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      std::int64_t sum = 0;
      for (std::size_t l = 0; l < K; ++l) sum += std::int64_t{xi[i * K + l]} * q[j * K + l];
      want[i * N + j] = static_cast<float>(sum);
    }
  }
}

Output::Output(std::size_t rows, std::size_t cols, std::size_t padding)
    : rows_(rows), cols_(cols), padding_(padding), data_(rows * (cols + padding), poison()) {}

bool Output::untouched() const {
  for (const float& f : data_) {
    if (!is_poison(f)) return false;
  }
  return true;
}

std::string Output::difference(const std::vector<float>& want) const {
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t c = 0; c < cols_ + padding_; ++c) {
      const float& got = data_[r * (cols_ + padding_) + c];
      const std::string where = "element (" + std::to_string(r) + ", " + std::to_string(c) + ")";
      if (c >= cols_) {
        if (!is_poison(got)) return "padding " + where + " was written";
        continue;
      }
      const float& wanted = want.at(r * cols_ + c);
      if (std::memcmp(&got, &wanted, sizeof got) != 0) {
        return where + " is " + (is_poison(got) ? "not written" : std::to_string(got)) + ", not " +
               std::to_string(wanted);
      }
    }
  }
  return {};
}

std::vector<float> Output::values() const {
  std::vector<float> out;
  for (std::size_t r = 0; r < rows_; ++r) {
    const auto row = data_.begin() + static_cast<std::ptrdiff_t>(r * (cols_ + padding_));
    out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(cols_));
  }
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace nibblas::test
