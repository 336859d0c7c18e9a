// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibblas/dtype.hpp"

namespace nibblas {

/// Row-major f32 matrix that somebody else owns. Element (r, c) is data[r * stride + c]; data is 4-byte aligned.
/// Between the rows nothing is read or written.
struct ConstMatrixView {
  const float* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;  ///< in elements, >= cols

  constexpr ConstMatrixView() = default;
  constexpr ConstMatrixView(const float* d, std::size_t r, std::size_t c) : data(d), rows(r), cols(c), stride(c) {}
  constexpr ConstMatrixView(const float* d, std::size_t r, std::size_t c, std::size_t s)
      : data(d), rows(r), cols(c), stride(s) {}
};

struct MatrixView {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;  ///< in elements, >= cols

  constexpr MatrixView() = default;
  constexpr MatrixView(float* d, std::size_t r, std::size_t c) : data(d), rows(r), cols(c), stride(c) {}
  constexpr MatrixView(float* d, std::size_t r, std::size_t c, std::size_t s) : data(d), rows(r), cols(c), stride(s) {}
  constexpr operator ConstMatrixView() const { return {data, rows, cols, stride}; }
};

/// Weights W[N x K] exactly as they lie in a file: N rows of K elements of `dtype`, at any byte address.
/// bitnet_b158 is one stream of N*K codes followed by its f32 scale, so it has no row stride.
struct WeightView {
  DType dtype = DType::f32;
  std::size_t N = 0;  ///< rows = output channels
  std::size_t K = 0;  ///< contiguous elements of a row = input channels
  const std::byte* data = nullptr;
  std::size_t bytes = 0;       ///< extent of `data`; nothing outside is read
  std::size_t row_stride = 0;  ///< bytes from row to row; 0 = rows follow each other

  /// Bytes from row to row, where a row of K elements takes `row_bytes`.
  constexpr std::size_t stride(std::size_t row_bytes) const noexcept {
    return row_stride != 0 ? row_stride : row_bytes;
  }
};

}  // namespace nibblas
