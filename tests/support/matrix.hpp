// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "nibblas/views.hpp"
#include "support/bits.hpp"

namespace nibblas::test {

/// A row-major matrix with `gap` floats after each row; poison all over at first.
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols, std::size_t gap = 0)
      : rows_(rows), cols_(cols), stride_(cols + gap), data_(rows * stride_) {
    poison(data_.data(), data_.size());
  }

  MatrixView view() noexcept { return {data_.data(), rows_, cols_, stride_}; }
  ConstMatrixView view() const noexcept { return {data_.data(), rows_, cols_, stride_}; }
  /// `rows` rows from `first` on, the first `cols` elements of each.
  ConstMatrixView part(std::size_t first, std::size_t rows, std::size_t first_col, std::size_t cols) const noexcept {
    return {data_.data() + first * stride_ + first_col, rows, cols, stride_};
  }
  ConstMatrixView row(std::size_t r) const noexcept { return part(r, 1, 0, cols_); }
  float& at(std::size_t r, std::size_t c) noexcept { return data_[r * stride_ + c]; }
  float at(std::size_t r, std::size_t c) const noexcept { return data_[r * stride_ + c]; }

  /// Is what lies between the rows still poison?
  bool gaps_intact() const noexcept {
    for (std::size_t r = 0; r < rows_; ++r) {
      if (!is_poison(data_.data() + r * stride_ + cols_, stride_ - cols_)) return false;
    }
    return true;
  }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t stride_ = 0;
  std::vector<float> data_;
};

/// A copy with its own gap, which is poison.
inline Matrix copy_of(ConstMatrixView m, std::size_t gap = 0) {
  Matrix out(m.rows, m.cols, gap);
  for (std::size_t r = 0; r < m.rows; ++r)
    std::copy_n(m.data + r * m.stride, m.cols, out.view().data + r * (m.cols + gap));
  return out;
}

}  // namespace nibblas::test
