// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "nibblas/dtype.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

// The product in double on decoded weights, and how far from it docs/numerics.md lets a kernel be.
// Plain loops: no kernel, panel or plan of the library is involved, only its decoder.

namespace nibblas::test {

/// X times chosen rows of W, in double. The vectors are [M][rows.size()].
struct Oracle {
  DType weights = DType::f32;
  std::size_t M = 0;
  std::size_t K = 0;
  std::vector<std::size_t> rows;     ///< of W, in the order of the columns below
  std::vector<double> y;             ///< sum of x * w
  std::vector<double> magnitude;     ///< sum of |x| * (|d * sc * q| + |dmin * m|)
  std::vector<double> rounding32;    ///< sum of |w| * dx / 2 with dx = largest |x| of each 32 / 127
  std::vector<double> rounding_row;  ///< the same with one dx a row of X

  /// The largest |error| allowed to element i.
  double bound(Compute compute, std::size_t i) const noexcept;
};

/// Every row of W, or only `rows`. Errors: those of dequantize, shape_mismatch, a row past N.
Result<Oracle> make_oracle(const WeightView& w, ConstMatrixView x);
Result<Oracle> make_oracle(const WeightView& w, ConstMatrixView x, std::vector<std::size_t> rows);

struct Comparison {
  bool ok = true;  ///< every element within its bound; a NaN or Inf on either side is not
  std::size_t checked = 0;
  double rel_l2 = 0;  ///< |Y - oracle| / |oracle|, Euclidean; 0 / 0 is 0
  double worst = 0;   ///< largest error / bound
  std::size_t worst_m = 0;
  std::size_t worst_n = 0;  ///< row of W
  double got = 0;           ///< there
  double want = 0;
  double bound = 0;
};

/// `y` is the whole M x N.
Comparison compare(const Oracle& oracle, Compute compute, ConstMatrixView y);

}  // namespace nibblas::test
