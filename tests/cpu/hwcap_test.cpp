// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cpu_detect.hpp"

namespace nibblas {
namespace {

#if defined(__aarch64__)

constexpr std::uint64_t bit(unsigned i) { return std::uint64_t{1} << i; }

// Words as /proc/self/auxv shows them.
TEST(Hwcap, CortexA53HasNeonOnly) { EXPECT_EQ(to_string(features_from_hwcap(0xff, 0)), "neon"); }

TEST(Hwcap, NeoverseN1) { EXPECT_EQ(to_string(features_from_hwcap(0x119fff | bit(20), 0)), "neon dotprod fp16"); }

TEST(Hwcap, EachBitIsItsOwn) {
  const std::uint64_t asimd = bit(1);
  EXPECT_EQ(to_string(features_from_hwcap(asimd | bit(20), 0)), "neon dotprod");
  EXPECT_EQ(to_string(features_from_hwcap(asimd | bit(22), 0)), "neon sve");
  EXPECT_EQ(to_string(features_from_hwcap(asimd, bit(13))), "neon i8mm");
  EXPECT_EQ(to_string(features_from_hwcap(asimd | bit(9) | bit(10), 0)), "neon fp16");
}

TEST(Hwcap, HalfPrecisionNeedsScalarAndVector) {
  EXPECT_EQ(to_string(features_from_hwcap(bit(1) | bit(9), 0)), "neon");
  EXPECT_EQ(to_string(features_from_hwcap(bit(1) | bit(10), 0)), "neon");
}

TEST(Hwcap, NothingWithoutNeon) { EXPECT_EQ(features_from_hwcap(~bit(1), ~std::uint64_t{0}).bits, 0u); }

#endif

}  // namespace
}  // namespace nibblas
