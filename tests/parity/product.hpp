// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "nibblas/matmul.hpp"
#include "parity/inputs.hpp"
#include "support/kernels.hpp"
#include "support/matrix.hpp"
#include "support/weights.hpp"

// Products through the public API by a chosen kernel, and the result that they are compared with.

namespace nibblas::test {

/// How W reaches the product.
enum class Form : std::uint8_t {
  packed,
  image,      ///< packed, saved and read again
  zero_copy,  ///< rows at an odd address
  strided,    ///< rows with garbage between them (bitnet_b158: as zero_copy)
};
const char* to_string(Form form) noexcept;

struct Conditions {
  Form form = Form::packed;
  bool prepared = false;  ///< X goes through prepare() first
  TileOverride tiles = {};
  Executor* executor = nullptr;
  const CacheInfo* caches = nullptr;
};

/// Computes y with this kernel. Fails when a call does, or when another kernel ran.
[[nodiscard]] testing::AssertionResult multiply(const Candidate& c, const Weights& w, ConstMatrixView x, MatrixView y,
                                                const Conditions& conditions = {});

/// MatmulOptions that name the candidate.
MatmulOptions options_for(const Candidate& c);

/// Bit for bit, any NaN like any other.
[[nodiscard]] testing::AssertionResult matches(ConstMatrixView want, ConstMatrixView got);

/// Is y within the error bounds of docs/numerics.md of the product in double? Where the
/// sum, or that of X times the codes before they are scaled, could exceed a float, nothing is promised.
[[nodiscard]] testing::AssertionResult within_bounds(const WeightView& w, ConstMatrixView x, Compute compute,
                                                     ConstMatrixView y);

inline constexpr std::size_t kReferenceM = 97;
inline constexpr std::size_t kReferenceN = 50;

/// kReferenceM rows of X times kReferenceN rows of W by the scalar provider, checked against the double oracle. Rows
/// and columns of a product are independent, so every smaller product is a part of it.
struct Reference {
  const Weights& w;
  const Matrix& x;
  Matrix y;
};
/// Made once; the test that asks first fails when the oracle disagrees.
const Reference& reference(Key key, std::size_t K, WeightFill weights = WeightFill::gaussian,
                           InputFill input = InputFill::gaussian);

/// Elements in a block of the format; 64 for formats without blocks: one group of the canonical order.
std::size_t one_block(DType t) noexcept;

}  // namespace nibblas::test
