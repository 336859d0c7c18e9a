// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "fakes.hpp"
#include "nibblas/matmul.hpp"

// A request that pins CPU features gets a kernel that uses them or a status, never another kernel.

namespace nibblas {
namespace {

using namespace fakes;

constexpr CpuFeatures kDotprod = CpuFeatures{}.with(CpuFeature::dotprod);
constexpr CpuFeatures kBoth = kDotprod.with(CpuFeature::i8mm);

class RequireTest : public ::testing::Test {
 protected:
  const Provider scalar_{"scalar", 0, {tiled(kQ4, "plain")}};
  const Provider dot_{"dot", 100, {needing(tiled(kQ4, "dotted"), kDotprod)}};
  const Provider top_{"top", 200, {tiled(kQ4, "best")}};
};

TEST_F(RequireTest, TheKernelThatUsesTheFeatureOrAStatus) {
  KernelRegistry r(cpu({CpuFeature::dotprod}));
  for (const Provider* p : {&scalar_, &dot_, &top_}) ASSERT_TRUE(r.add(*p).ok());
  EXPECT_STREQ(r.select({.key = kQ4})->name, "best");
  EXPECT_STREQ(r.select({.key = kQ4, .require = kDotprod})->name, "dotted");
  EXPECT_EQ(r.resolve({.key = kQ4, .require = kDotprod}).kernel, r.select({.key = kQ4, .require = kDotprod}));
  EXPECT_EQ(r.select({.key = kQ4, .require = kBoth}), nullptr);
  EXPECT_EQ(r.resolve({.key = kQ4, .require = kBoth}).status.code(), StatusCode::unsupported);
  EXPECT_EQ(r.select({.key = kQ4, .provider = "top", .require = kDotprod}), nullptr);
}

TEST_F(RequireTest, OnACpuWithoutTheFeatureThereIsNone) {
  KernelRegistry r(cpu());
  for (const Provider* p : {&scalar_, &dot_}) ASSERT_TRUE(r.add(*p).ok());
  EXPECT_STREQ(r.select({.key = kQ4})->name, "plain");
  EXPECT_EQ(r.select({.key = kQ4, .require = kDotprod}), nullptr);
  EXPECT_EQ(reason(r.resolve({.key = kQ4, .require = kDotprod}), "dotted"), "cpu lacks dotprod");
}

TEST_F(RequireTest, ExplainNamesWhatIsRequiredAndWhoLacksIt) {
  KernelRegistry r(cpu({CpuFeature::dotprod}));
  for (const Provider* p : {&scalar_, &dot_, &top_}) ASSERT_TRUE(r.add(*p).ok());
  EXPECT_EQ(r.explain({.key = kQ4, .require = kDotprod}),
            "matmul q4_0 int8, required dotprod -> dotted\n"
            "    top (priority 200) best: does not use the required dotprod\n"
            "  * dot (priority 100) dotted: highest priority of those that can\n"
            "    scalar (priority 0) plain: does not use the required dotprod\n");
}

TEST_F(RequireTest, AForcedProviderDoesNotLendItsFloor) {
  KernelRegistry r(cpu({CpuFeature::dotprod}), {"top", {}, {}});
  for (const Provider* p : {&scalar_, &top_}) ASSERT_TRUE(r.add(*p).ok());
  EXPECT_EQ(r.select({.key = kQ4, .require = kDotprod}), nullptr);
}

TEST(Require, AProductPinsItsKernel) {
  KernelRegistry r = KernelRegistry::builtin(host_cpu(), {});
  Context context;
  context.registry = &r;
  std::vector<std::byte> codes(32 + 4);
  std::vector<float> x(32), y(4);
  const WeightView w{DType::bitnet_b158, 4, 32, codes.data(), codes.size(), 0};
  ASSERT_TRUE(gemv(w, x, y, context));
  MatmulStats stats;
  for (std::size_t f = 0; f < kCpuFeatureCount; ++f) {
    MatmulOptions options;
    options.require = CpuFeatures{}.with(static_cast<CpuFeature>(f));
    options.stats = &stats;
    const Status s = gemv(w, x, y, context, options);
    if (s.ok()) {
      EXPECT_TRUE(stats.kernel->needs.includes(options.require)) << stats.kernel->name;
    } else {
      EXPECT_EQ(s.code(), StatusCode::unsupported);
      EXPECT_NE(explain(w, 1, context, options).find("required " + to_string(options.require)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace nibblas
