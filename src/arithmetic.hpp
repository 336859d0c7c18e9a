// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace nibblas {

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) noexcept { return a / b + (a % b != 0); }
constexpr std::size_t round_up(std::size_t n, std::size_t to) noexcept { return ceil_div(n, to) * to; }

}  // namespace nibblas
