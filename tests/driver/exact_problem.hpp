// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nibblas/dtype.hpp"
#include "nibblas/views.hpp"

namespace nibblas::test {

/// A product of small integers, written into the format's blocks by hand. Every partial sum is an integer below 2^24
/// and every scale is 1, so whatever the compute and the order of operations there is one answer, known from int64
/// arithmetic, and results are compared bit for bit. For f32, f16, bf16, q8_0, q4_0, tq2_0 and bitnet_b158.
/// Each 32 elements of X hold a 127, so that their q8 scale is 1.
struct ExactProblem {
  ExactProblem(DType dtype, std::size_t M, std::size_t N, std::size_t K, std::uint64_t seed = 1);

  WeightView view() const { return {dtype, N, K, w.data(), w.size(), 0}; }
  ConstMatrixView rows() const { return {x.data(), M, K}; }

  DType dtype;
  std::size_t M;
  std::size_t N;
  std::size_t K;
  std::vector<std::byte> w;
  std::vector<float> x;
  std::vector<float> want;  ///< M x N
};

/// A combination that ExactProblem can make.
struct ExactCase {
  DType dtype;
  Compute compute;
  std::size_t block;  ///< K is a multiple of it
};
inline constexpr ExactCase kExactCases[] = {
    {DType::f32, Compute::f32, 1},
    {DType::f16, Compute::f32, 1},
    {DType::bf16, Compute::f32, 1},
    {DType::q8_0, Compute::f32, 32},
    {DType::q8_0, Compute::int8, 32},
    {DType::q4_0, Compute::f32, 32},
    {DType::q4_0, Compute::int8, 32},
    {DType::tq2_0, Compute::f32, 256},
    {DType::tq2_0, Compute::int8, 256},
    {DType::tq2_0, Compute::int8_token, 256},
    {DType::bitnet_b158, Compute::f32, 1},
    {DType::bitnet_b158, Compute::int8, 1},
    {DType::bitnet_b158, Compute::int8_token, 1},
};

/// Memory for Y, full of a signalling NaN that no product writes.
class Output {
 public:
  Output(std::size_t rows, std::size_t cols, std::size_t padding = 0);

  MatrixView view() { return {data_.data(), rows_, cols_, cols_ + padding_}; }
  float* data() { return data_.data(); }
  bool untouched() const;
  /// Empty, or the first element that is not `want`'s (rows x cols) or, in the padding, not poison.
  std::string difference(const std::vector<float>& want) const;
  /// The rows without their padding.
  std::vector<float> values() const;

 private:
  std::size_t rows_;
  std::size_t cols_;
  std::size_t padding_;
  std::vector<float> data_;
};

/// Bit for bit.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace nibblas::test
