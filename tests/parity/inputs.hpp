// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/matrix.hpp"

namespace nibblas::test {

/// What the rows of X are made of.
enum class InputFill : std::uint8_t {
  gaussian,   ///< with outlier channels
  extremes,   ///< +-a: every code is +-127
  ties,       ///< every x / dx lies half-way between two codes
  constant,   ///< 50 everywhere
  large_sum,  ///< 4000 everywhere: 32 of them exceed a half
  zeros,      ///< of both signs
  subnormal,  ///< mostly subnormal
  flushed,    ///< amplitudes of blocks around the smallest whose reciprocal is finite
  wide,       ///< magnitudes over forty decades
  huge,       ///< near the largest float
  hostile,    ///< row m is of kind m % 9 of those above
};
inline constexpr std::size_t kInputFillCount = 11;
const char* to_string(InputFill fill) noexcept;

Matrix make_input(std::size_t M, std::size_t K, InputFill fill, std::uint64_t seed);

}  // namespace nibblas::test
