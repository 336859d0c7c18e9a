// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "nibblas/dtype.hpp"

// The arithmetic of the report, apart from measuring and printing.

namespace nibblas::bench {

/// Middle value, or the mean of the middle two; 0 for none.
double median(std::vector<double> values);

/// Bytes of weights that one product has to read: those of the file, N * row_bytes. Packed ternary weights count the
/// bytes of their 2-bit panels instead, since that is what is read. 0 if the shape is not one of the format.
double weight_bytes(DType dtype, std::size_t N, std::size_t K, bool packed);

struct Speed {
  double gops = 0;        ///< 2 M N K / t, in 1e9
  double weight_gbs = 0;  ///< weight_bytes / t, in 1e9
  double limit_gops = 0;
  double limit_gbs = 0;

  /// Of whichever limit is nearer; 0 for a limit that is not known.
  double fraction_of_limit() const;
};

Speed speed(std::size_t M, std::size_t N, std::size_t K, double weight_bytes, double seconds, double limit_gops,
            double limit_gbs);

/// How often a product of `seconds` is to be timed within `budget` seconds: at least 7 times, at least 3 if it is so
/// slow that 7 would take long, at most kMaxRepetitions.
inline constexpr std::size_t kMaxRepetitions = 2000;
std::size_t repetitions(double seconds, double budget);

}  // namespace nibblas::bench
