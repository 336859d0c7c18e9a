// SPDX-License-Identifier: Apache-2.0
#include "verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nibblas::bench {
namespace {

TEST(RowsToCheck, AllUpToTheLimit) {
  EXPECT_EQ(rows_to_check(16, 4096, 4096).size(), 4096u) << "exactly 2^28 multiply-adds";
  EXPECT_EQ(rows_to_check(1, 10, 32).size(), 10u);
  EXPECT_EQ(rows_to_check(1 << 20, 96, 1 << 20).size(), 96u) << "a sample would not be smaller";
  EXPECT_TRUE(rows_to_check(1, 0, 32).empty());
}

TEST(RowsToCheck, FirstAndLastPanelAndASeededSampleAbove) {
  for (const std::size_t N : {4096u, 4097u, 4111u}) {
    const std::vector<std::size_t> rows = rows_to_check(17, N, 4096);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
    EXPECT_LT(rows.back(), N);
    for (std::size_t r = 0; r < 16; ++r) EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), r));
    for (std::size_t r = (N - 1) / 16 * 16; r < N; ++r) EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), r));
    const auto inner =
        std::count_if(rows.begin(), rows.end(), [&](std::size_t r) { return r >= 16 && r < (N - 1) / 16 * 16; });
    EXPECT_GT(inner, 56) << "64 with a few drawn twice";
    EXPECT_EQ(rows, rows_to_check(17, N, 4096));
  }
}

}  // namespace
}  // namespace nibblas::bench
