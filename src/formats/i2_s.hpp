// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibblas/import.hpp"

namespace nibblas::formats {

/// Where an i2_s tensor keeps the code of an element. N * K does not overflow.
///
///   group128   byte  32i + j:      bits 7,6     5,4        3,2        1,0
///                      element 128i +     j   32 + j     64 + j     96 + j
///   group64    byte  16i + j:
///                      element  64i +     j   16 + j     32 + j     48 + j
///   rows4      byte  rK + k:    rows 4r      4r + 1     4r + 2     4r + 3    element k
///   sequential byte  i:   element 4i +     3        2          1          0
struct I2sPosition {
  std::size_t byte;
  unsigned shift;
};

inline I2sPosition i2s_position(I2sLayout layout, std::size_t K, std::size_t row, std::size_t k) noexcept {
  const std::size_t i = row * K + k;
  const auto in_group = [i](std::size_t group) -> I2sPosition {
    const std::size_t lane = group / 4;
    return {i / group * lane + i % lane, static_cast<unsigned>(6 - 2 * (i % group / lane))};
  };
  switch (layout) {
    case I2sLayout::group128:
      return in_group(128);
    case I2sLayout::group64:
      return in_group(64);
    case I2sLayout::rows4:
      return {row / 4 * K + k, static_cast<unsigned>(6 - 2 * (row % 4))};
    case I2sLayout::sequential:
      break;
  }
  return {i / 4, static_cast<unsigned>(2 * (i % 4))};
}

inline unsigned i2s_code(const I2sTensor& t, std::size_t row, std::size_t k) noexcept {
  const I2sPosition at = i2s_position(t.layout, t.K, row, k);
  return (std::to_integer<unsigned>(t.data[at.byte]) >> at.shift) & 3u;
}

}  // namespace nibblas::formats
