// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "nibblas/views.hpp"
#include "support/matrix.hpp"

// Ternary weights from given code bytes, and products of integers with them that every compute gets exactly right: the
// scales are powers of two or 0, every 32 activations hold 127 or -127, so their scale is 1, and no sum needs more
// than 24 bits.

namespace nibblas::test {

struct ExactCodes {
  DType dtype = DType::bitnet_b158;
  std::size_t N = 0;
  std::size_t K = 0;
  std::vector<std::byte> bytes;
  std::vector<double> w;  ///< [N][K], decoded by this file

  WeightView view() const { return {dtype, N, K, bytes.data(), bytes.size(), 0}; }
  /// Y in double; exact.
  std::vector<double> times(ConstMatrixView x) const;
};

/// Code byte i of the tensor (those of a block in the file's order) is code_byte(i), scale number i is scale(i).
ExactCodes exact_codes(DType dtype, std::size_t N, std::size_t K,
                       const std::function<std::uint8_t(std::size_t)>& code_byte,
                       const std::function<float(std::size_t)>& scale);

/// Integers up to 127 in size.
Matrix integer_input(std::size_t M, std::size_t K, std::uint64_t seed, std::size_t gap = 0);

}  // namespace nibblas::test
