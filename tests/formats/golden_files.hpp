// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "nibblas/dtype.hpp"

// ggml's bytes and values in tests/golden: 45 rows of 1024.

namespace nibblas::test {

inline constexpr std::size_t kGoldenRows = 45;
inline constexpr std::size_t kGoldenK = 1024;

template <class T>
std::vector<T> read_golden(const std::string& name) {
  std::ifstream file(std::string(NIBBLAS_GOLDEN_DIR "/") + name, std::ios::binary);
  EXPECT_TRUE(file) << "cannot open " << name;
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

inline std::vector<float> golden_input() {
  std::vector<float> x = read_golden<float>("quant_input.f32");
  EXPECT_EQ(x.size(), kGoldenRows * kGoldenK);
  return x;
}

inline std::string golden_row_name(std::size_t row) {
  std::ifstream file(NIBBLAS_GOLDEN_DIR "/quant_rows.txt");
  std::size_t index = 0;
  std::string name;
  while (file >> index >> name) {
    if (index == row) return name;
  }
  ADD_FAILURE() << "no golden row " << row;
  return {};
}

inline std::size_t golden_row(const std::string& wanted) {
  for (std::size_t row = 0; row < kGoldenRows; ++row) {
    if (golden_row_name(row) == wanted) return row;
  }
  ADD_FAILURE() << "no golden row " << wanted;
  return 0;
}

inline double rmse(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += e * e;
  }
  return std::sqrt(sum / static_cast<double>(n));
}

}  // namespace nibblas::test
