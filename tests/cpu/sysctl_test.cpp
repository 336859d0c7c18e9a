// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cpu_detect.hpp"

namespace nibblas {
namespace {

/// Made-up values under Apple's names.
class FakeSysctl final : public SysctlSource {
 public:
  explicit FakeSysctl(std::map<std::string, std::int64_t> values) : values_(std::move(values)) {}
  std::int64_t value(const char* name) const noexcept override {
    const auto found = values_.find(name);
    return found == values_.end() ? -1 : found->second;
  }

 private:
  std::map<std::string, std::int64_t> values_;
};

std::string features(std::map<std::string, std::int64_t> values) {
  return to_string(features_from_sysctl(FakeSysctl(std::move(values))));
}

TEST(Sysctl, EachNameIsItsOwn) {
  const std::string simd = "hw.optional.AdvSIMD";
  EXPECT_EQ(features({{simd, 1}}), "neon");
  EXPECT_EQ(features({{"hw.optional.neon", 1}}), "neon") << "the older name";
  EXPECT_EQ(features({{simd, 1}, {"hw.optional.arm.FEAT_DotProd", 1}}), "neon dotprod");
  EXPECT_EQ(features({{simd, 1}, {"hw.optional.arm.FEAT_I8MM", 1}}), "neon i8mm");
  EXPECT_EQ(features({{simd, 1}, {"hw.optional.arm.FEAT_FP16", 1}}), "neon fp16");
}

TEST(Sysctl, WhatIsZeroOrUnknownIsAbsent) {
  EXPECT_EQ(features({}), "");
  EXPECT_EQ(features({{"hw.optional.AdvSIMD", 0}, {"hw.optional.arm.FEAT_DotProd", 1}}), "");
  EXPECT_EQ(features({{"hw.optional.AdvSIMD", 1}, {"hw.optional.arm.FEAT_DotProd", 0}}), "neon");
}

TEST(Sysctl, CachesOfTheFastCores) {
  const CacheInfo c = caches_from_sysctl(FakeSysctl({{"hw.perflevel0.l1dcachesize", 131072},
                                                     {"hw.l1dcachesize", 65536},
                                                     {"hw.perflevel0.l2cachesize", 12582912},
                                                     {"hw.l2cachesize", 4194304}}));
  EXPECT_EQ(c.l1d, 131072u);
  EXPECT_EQ(c.l2, 12582912u);
  EXPECT_EQ(c.l3, 0u);
}

TEST(Sysctl, CachesOfAllCoresWhereNothingElseIsKnown) {
  const CacheInfo c = caches_from_sysctl(FakeSysctl({{"hw.l1dcachesize", 65536}, {"hw.l2cachesize", 4194304}}));
  EXPECT_EQ(c.l1d, 65536u);
  EXPECT_EQ(c.l2, 4194304u);
  EXPECT_EQ(caches_from_sysctl(FakeSysctl({{"hw.l1dcachesize", 1}})).l1d, 0u) << "no cache has that size";
}

}  // namespace
}  // namespace nibblas
