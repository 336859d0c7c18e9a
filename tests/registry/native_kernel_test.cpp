// SPDX-License-Identifier: Apache-2.0
#include "nibblas/native_kernel.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "fakes.hpp"

// A native kernel is installed for its key alone, or nothing is and the caller hears of it once.

namespace nibblas {
namespace {

using namespace fakes;

constexpr KernelKey kTernary{Op::gemv, DType::bitnet_b158, Compute::int8_token};
constexpr KernelKey kTernaryMatmul{Op::matmul, DType::bitnet_b158, Compute::int8_token};

void remember(std::string_view message, void* user) {
  static_cast<std::vector<std::string>*>(user)->emplace_back(message);
}

Kernel missing() {
  Kernel k = whole(kTernary, "gemv.bitnet_b158.int8_token.native");
  k.whole.run = nullptr;
  return k;
}

class NativeKernelTest : public ::testing::Test {
 protected:
  NativeKernelTest() { EXPECT_TRUE(r_.add(scalar_).ok()); }
  const Provider scalar_{"scalar", 0, {tiled(kTernaryMatmul, "scalar.ternary"), tiled(kF32, "scalar.f32")}};
  KernelRegistry r_{cpu({CpuFeature::avx2})};
  std::vector<std::string> warnings_;
};

TEST_F(NativeKernelTest, ServesItsKeyAndNoOther) {
  NativeKernel native("native", 300, whole(kTernary, "native.gemv"), remember, &warnings_);
  const Result<bool> installed = native.install(r_);
  ASSERT_TRUE(installed) << installed.status().message();
  EXPECT_TRUE(*installed);
  EXPECT_STREQ(r_.select({.key = kTernary})->name, "native.gemv");
  EXPECT_STREQ(r_.select({.key = kTernaryMatmul})->name, "scalar.ternary");
  EXPECT_STREQ(r_.select({.key = kF32})->name, "scalar.f32");
  EXPECT_EQ(r_.explain({.key = kTernary}),
            "gemv bitnet_b158 int8_token -> native.gemv\n"
            "  * native (priority 300) native.gemv: highest priority\n"
            "    scalar (priority 0) scalar.ternary: lower priority than native\n");
  EXPECT_TRUE(warnings_.empty());
  EXPECT_TRUE(*native.install(r_));
  ASSERT_TRUE(r_.remove("native").ok());
  EXPECT_STREQ(r_.select({.key = kTernary})->name, "scalar.ternary");
}

TEST_F(NativeKernelTest, AMissingOneRegistersNothingAndWarnsOnce) {
  NativeKernel native("native", 300, missing(), remember, &warnings_);
  const std::string before = r_.explain({.key = kTernary});
  KernelRegistry other(cpu());
  for (KernelRegistry* r : {&r_, &r_, &other}) {
    const Result<bool> installed = native.install(*r);
    ASSERT_TRUE(installed) << installed.status().message();
    EXPECT_FALSE(*installed);
  }
  EXPECT_EQ(r_.find("native"), nullptr);
  EXPECT_EQ(r_.providers().size(), 1u);
  EXPECT_EQ(r_.explain({.key = kTernary}), before);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0],
            "provider 'native' has no native kernel for gemv bitnet_b158 int8_token; nothing was registered");
}

TEST_F(NativeKernelTest, NobodyNeedListen) {
  NativeKernel silent("native", 300, missing(), nullptr, nullptr);
  EXPECT_FALSE(*silent.install(r_));
  NativeKernel loud(
      "native", 300, missing(), [](std::string_view, void*) { throw std::runtime_error("stop"); }, nullptr);
  EXPECT_FALSE(*loud.install(r_));
}

TEST_F(NativeKernelTest, ACpuWithoutItsFeaturesGetsTheNextProvider) {
  Kernel k = whole(kTernary, "native.gemv");
  k.needs = CpuFeatures{}.with(CpuFeature::avx512vnni);
  NativeKernel native("native", 300, k, remember, &warnings_);
  ASSERT_TRUE(*native.install(r_));
  EXPECT_STREQ(r_.select({.key = kTernary})->name, "scalar.ternary");
  EXPECT_EQ(reason(r_.resolve({.key = kTernary}), "native"), "cpu lacks avx512vnni");
}

TEST_F(NativeKernelTest, ATakenNameIsAnError) {
  NativeKernel native("Scalar", 300, whole(kTernary, "native.gemv"), remember, &warnings_);
  EXPECT_EQ(native.install(r_).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace nibblas
