// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "fakes.hpp"

// What an engine does: it brings a provider of its own, and only the keys of that provider change.

namespace nibblas {
namespace {

using namespace fakes;

constexpr KernelKey kTernary{Op::gemv, DType::bitnet_b158, Compute::int8_token};

class OutsideTest : public ::testing::Test {
 protected:
  OutsideTest() {
    std::vector<Kernel> kernels;
    for (const KernelKey& key : all_keys()) {
      if (key.op == Op::matmul && is_legal(key.weights, key.compute)) {
        names_.push_back(text(key));
        for (char& c : names_.back()) {
          c = c == ' ' ? '.' : c;
        }
        kernels.push_back(tiled(key, names_.back().c_str()));
      }
    }
    scalar_.emplace("scalar", 0, std::move(kernels));
  }

  KernelRegistry registry(RegistryConfig config = {}) {
    KernelRegistry r(cpu(), std::move(config));
    EXPECT_TRUE(r.add(*scalar_).ok());
    return r;
  }

  using Choices = std::map<std::string, const Kernel*>;
  static Choices choices(const KernelRegistry& r, bool allow_tolerance = false) {
    Choices all;
    for (const KernelKey& key : all_keys()) {
      for (const bool panels : {false, true}) {
        const KernelRequest q{
            .key = key, .allow_tolerance = allow_tolerance, .layout_id = panels ? panel_layout(key.weights).id : 0};
        const Kernel* k = r.select(q);
        EXPECT_EQ(k, r.resolve(q).kernel);
        all[text(key) + (panels ? " panels" : " rows")] = k;
      }
    }
    return all;
  }
  static std::vector<std::string> changed(const Choices& a, const Choices& b) {
    std::vector<std::string> keys;
    for (const auto& [key, kernel] : a) {
      if (b.at(key) != kernel) {
        keys.push_back(key);
      }
    }
    return keys;
  }

  std::deque<std::string> names_;
  std::optional<Provider> scalar_;
  const Provider blas_{"VendorBlas", 900, {whole(kF32, "vendor.sgemm")}};
  const Provider near_{"NearBlas", 900, {tolerant(whole(kF32, "near.sgemm"))}};
  const Provider ternary_{"RawTernary", 300, {whole(kTernary, "raw.ternary.gemv")}};
};

using Keys = std::vector<std::string>;

TEST_F(OutsideTest, TheBaseServesEveryLegalKeyAndNoOther) {
  const KernelRegistry r = registry();
  std::size_t legal = 0;
  for (const KernelKey& key : all_keys()) {
    const Kernel* k = r.select({.key = key});
    EXPECT_EQ(k != nullptr, is_legal(key.weights, key.compute)) << text(key);
    legal += k != nullptr;
  }
  EXPECT_EQ(legal, 2u * (3 + 5 * 2 + 3 * 3));
}

TEST_F(OutsideTest, AWholeProductIsPreferredForItsOwnKeyOnly) {
  KernelRegistry r = registry();
  const Choices before = choices(r);
  ASSERT_TRUE(r.add(blas_).ok());
  const Choices after = choices(r);
  EXPECT_EQ(changed(before, after), (Keys{"gemv f32 f32 rows", "matmul f32 f32 rows"}));
  EXPECT_EQ(after.at("matmul f32 f32 rows"), &blas_.kernels()[0]);
  ASSERT_TRUE(r.remove("vendorblas").ok());
  EXPECT_EQ(choices(r), before);
}

TEST_F(OutsideTest, ARawTernaryGemvIsPreferredForItsOwnKeyOnly) {
  KernelRegistry r = registry();
  const Choices before = choices(r);
  ASSERT_TRUE(r.add(ternary_).ok());
  const Choices after = choices(r);
  EXPECT_EQ(changed(before, after), Keys{"gemv bitnet_b158 int8_token rows"});
  EXPECT_EQ(after.at("gemv bitnet_b158 int8_token rows"), &ternary_.kernels()[0]);
  ASSERT_TRUE(r.remove("RAWTERNARY").ok());
  EXPECT_EQ(choices(r), before);
}

TEST_F(OutsideTest, ToleranceIsOptedIn) {
  KernelRegistry r = registry();
  const Choices before = choices(r);
  ASSERT_TRUE(r.add(near_).ok());
  EXPECT_EQ(choices(r), before);
  EXPECT_EQ(changed(before, choices(r, true)), (Keys{"gemv f32 f32 rows", "matmul f32 f32 rows"}));
  EXPECT_EQ(r.select({.key = kF32, .provider = "nearblas"}), &near_.kernels()[0]);
  EXPECT_EQ(r.select({.key = kQ4, .provider = "nearblas"}), nullptr);
}

TEST_F(OutsideTest, Disabled) {
  for (const char* list : {"vendorBLAS,rawternary", "vendor.sgemm, RAW.ternary.gemv"}) {
    KernelRegistry r = registry({{}, {}, list});
    ASSERT_TRUE(r.add(blas_).ok());
    ASSERT_TRUE(r.add(ternary_).ok());
    ASSERT_TRUE(r.config_status().ok()) << r.config_status().message();
    EXPECT_EQ(choices(r), choices(registry())) << list;
  }
}

TEST_F(OutsideTest, TwoOutsidersDoNotHideEachOther) {
  KernelRegistry r = registry();
  const Choices before = choices(r);
  ASSERT_TRUE(r.add(blas_).ok());
  ASSERT_TRUE(r.add(ternary_).ok());
  EXPECT_EQ(changed(before, choices(r)),
            (Keys{"gemv bitnet_b158 int8_token rows", "gemv f32 f32 rows", "matmul f32 f32 rows"}));
  ASSERT_TRUE(r.remove("vendorblas").ok());
  EXPECT_EQ(changed(before, choices(r)), Keys{"gemv bitnet_b158 int8_token rows"});
}

}  // namespace
}  // namespace nibblas
