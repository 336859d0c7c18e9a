// SPDX-License-Identifier: Apache-2.0
#include "metrics.hpp"

#include <gtest/gtest.h>

namespace nibblas::bench {
namespace {

TEST(Metrics, Median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({9, 1, 2, 4}), 3);
}

TEST(Metrics, WeightBytesAreTheFiles) {
  EXPECT_EQ(weight_bytes(DType::q4_0, 4096, 4096, true), 4096.0 * 128 * 18);
  EXPECT_EQ(weight_bytes(DType::q4_0, 17, 4096, true), 17.0 * 128 * 18) << "no padding rows";
  EXPECT_EQ(weight_bytes(DType::f32, 3, 5, false), 60);
  EXPECT_EQ(weight_bytes(DType::q4_k, 1, 100, true), 0) << "not a shape of q4_k";
}

TEST(Metrics, PackedTernaryCountsItsPanels) {
  EXPECT_EQ(weight_bytes(DType::tq1_0, 32, 256, false), 32.0 * 54);
  EXPECT_EQ(weight_bytes(DType::tq1_0, 32, 256, true), 2.0 * (16 * 64 + 32));
  EXPECT_EQ(weight_bytes(DType::bitnet_b158, 17, 33, true), 2.0 * (2 * 128 + 64));
  EXPECT_EQ(weight_bytes(DType::bitnet_b158, 17, 33, false), 141.0 + 4);
}

TEST(Metrics, SpeedAndFraction) {
  // 2 * 10 * 100 * 1000 operations and 50 MB in 10 ms.
  const Speed s = speed(10, 100, 1000, 50e6, 0.01, 0.4, 50);
  EXPECT_DOUBLE_EQ(s.gops, 0.2);
  EXPECT_DOUBLE_EQ(s.weight_gbs, 5);
  EXPECT_DOUBLE_EQ(s.fraction_of_limit(), 0.5) << "arithmetic is the nearer limit";
  EXPECT_DOUBLE_EQ(speed(10, 100, 1000, 400e6, 0.01, 0.4, 50).fraction_of_limit(), 0.8) << "memory is";
  EXPECT_EQ(speed(1, 1, 1, 1, 0, 1, 1).fraction_of_limit(), 0) << "no time, no speed";
  EXPECT_DOUBLE_EQ(speed(10, 100, 1000, 50e6, 0.01, 0, 50).fraction_of_limit(), 0.1) << "unknown limit";
}

TEST(Metrics, Repetitions) {
  EXPECT_EQ(repetitions(0.01, 0.5), 50u);
  EXPECT_EQ(repetitions(0.1, 0.5), 7u) << "never less for a median";
  EXPECT_EQ(repetitions(3.0, 0.5), 3u) << "unless it is slow";
  EXPECT_EQ(repetitions(1e-7, 0.5), kMaxRepetitions);
  EXPECT_EQ(repetitions(0, 0.5), kMaxRepetitions);
}

}  // namespace
}  // namespace nibblas::bench
