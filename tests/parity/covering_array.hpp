// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nibblas::test {

/// Test cases over factors with `levels[f]` values each, so that every pair of values of every two factors occurs in at
/// least one case. A case holds a level index a factor. Greedy: not the fewest cases, but not far from it.
std::vector<std::vector<std::size_t>> covering_array(const std::vector<std::size_t>& levels, std::uint64_t seed);

}  // namespace nibblas::test
