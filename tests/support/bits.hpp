// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "nibblas/views.hpp"

// What "the same result" means: the same bits, where any NaN stands for any other.

namespace nibblas::test {

inline bool same_bits(float a, float b) noexcept {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

struct Difference {
  std::size_t row = 0;
  std::size_t col = 0;
  float want = 0;
  float got = 0;
};

/// The first element in which two matrices of one shape differ.
inline std::optional<Difference> first_difference(ConstMatrixView want, ConstMatrixView got) noexcept {
  for (std::size_t r = 0; r < want.rows; ++r) {
    const float* a = want.data + r * want.stride;
    const float* b = got.data + r * got.stride;
    if (want.cols == 0 || std::memcmp(a, b, want.cols * sizeof(float)) == 0) continue;
    for (std::size_t c = 0; c < want.cols; ++c) {
      if (!same_bits(a[c], b[c])) return Difference{r, c, a[c], b[c]};
    }
  }
  return std::nullopt;
}

/// A signaling NaN that no computation makes: what memory holds before it is written.
inline constexpr std::uint32_t kPoison = 0x7fa5a5a5;

inline void poison(void* p, std::size_t floats) noexcept {
  for (std::size_t i = 0; i < floats; ++i) {
    std::memcpy(static_cast<std::byte*>(p) + i * sizeof kPoison, &kPoison, sizeof kPoison);
  }
}

inline bool is_poison(const void* p, std::size_t floats) noexcept {
  for (std::size_t i = 0; i < floats; ++i) {
    if (std::memcmp(static_cast<const std::byte*>(p) + i * sizeof kPoison, &kPoison, sizeof kPoison) != 0) return false;
  }
  return true;
}

}  // namespace nibblas::test
