// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace nibblas {

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) noexcept { return a / b + (a % b != 0); }
constexpr std::size_t round_up(std::size_t n, std::size_t to) noexcept { return ceil_div(n, to) * to; }

// Sizes in bytes: SIZE_MAX, which no memory has, stands for all that a size_t does not hold.
constexpr std::size_t saturating_mul(std::size_t a, std::size_t b) noexcept {
  return a != 0 && b > SIZE_MAX / a ? SIZE_MAX : a * b;
}
constexpr std::size_t saturating_add(std::size_t a, std::size_t b) noexcept {
  return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

}  // namespace nibblas
