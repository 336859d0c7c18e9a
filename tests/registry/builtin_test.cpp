// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "builtin_providers.hpp"
#include "fakes.hpp"

namespace nibblas {
namespace {

using namespace fakes;

CpuInfo every_feature() {
  CpuInfo c = cpu();
  for (std::size_t i = 0; i < kCpuFeatureCount; ++i) {
    c.features = c.features.with(static_cast<CpuFeature>(i));
  }
  return c;
}

const TableProvider* find_builtin(std::string_view name) {
  for (const TableProvider& p : builtin_providers()) {
    if (p.name() == name) {
      return &p;
    }
  }
  return nullptr;
}

TEST(Builtin, ScalarIsInEveryBuild) {
  const TableProvider* scalar = find_builtin("scalar");
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(scalar->priority(), 0);
  EXPECT_TRUE(scalar->available(cpu()).usable) << "the floor needs no feature";
}

TEST(Builtin, EveryProviderIsSoundAndJoins) {
  const KernelRegistry r = KernelRegistry::builtin(cpu(), {});
  EXPECT_TRUE(r.config_status().ok()) << r.config_status().message();
  EXPECT_EQ(r.providers().size(), builtin_providers().size());
  for (const TableProvider& p : builtin_providers()) {
    EXPECT_EQ(r.find(p.name()), &p);
    EXPECT_FALSE(p.kernels().empty()) << p.name();
  }
}

TEST(Builtin, KernelNamesSayWhatTheyAre) {
  for (const TableProvider& p : builtin_providers()) {
    for (const Kernel& k : p.kernels()) {
      std::string expected = text(k.key) + " " + std::string(p.name());
      for (char& c : expected) {
        c = c == ' ' ? '.' : c;
      }
      EXPECT_EQ(k.name, expected);
      EXPECT_EQ(k.results, Results::canonical) << k.name;
    }
  }
}

TEST(Builtin, ACpuWithoutFeaturesRunsScalarForEveryLegalKey) {
  const KernelRegistry r = KernelRegistry::builtin(cpu(), {});
  for (const KernelKey& key : all_keys()) {
    if (is_legal(key.weights, key.compute)) {
      EXPECT_EQ(chosen(r, {.key = key}), "scalar") << text(key);
      EXPECT_EQ(chosen(r, {.key = key, .layout_id = panel_layout(key.weights).id}), "scalar") << text(key);
    } else {
      EXPECT_EQ(r.resolve({.key = key}).status.code(), StatusCode::unsupported) << text(key);
    }
  }
}

TEST(Builtin, EachMissingFeatureSwitchesOffExactlyWhoNeedsIt) {
  for (const TableProvider& p : builtin_providers()) {
    EXPECT_TRUE(p.available(every_feature()).usable) << p.name();
  }
  for (const auto& [provider, needs] :
       {std::pair{find_builtin("avx2"), std::vector{CpuFeature::avx2, CpuFeature::fma}},
        std::pair{find_builtin("neon"), std::vector{CpuFeature::neon}},
        std::pair{find_builtin("neon_dotprod"), std::vector{CpuFeature::neon, CpuFeature::dotprod}},
        std::pair{find_builtin("neon_i8mm"), std::vector{CpuFeature::neon, CpuFeature::dotprod, CpuFeature::i8mm}},
        std::pair{find_builtin("xsimd_neon64"), std::vector{CpuFeature::neon}},
        std::pair{find_builtin("xsimd_avx2"), std::vector{CpuFeature::avx2, CpuFeature::fma}},
        std::pair{find_builtin("xsimd_avx512"),
                  std::vector{CpuFeature::avx2, CpuFeature::fma, CpuFeature::avx512f, CpuFeature::avx512cd,
                              CpuFeature::avx512bw, CpuFeature::avx512vl, CpuFeature::avx512dq}},
        std::pair{find_builtin("avx512"),
                  std::vector{CpuFeature::avx2, CpuFeature::fma, CpuFeature::avx512f, CpuFeature::avx512bw,
                              CpuFeature::avx512vl, CpuFeature::avx512dq, CpuFeature::avx512vnni}}}) {
    for (const CpuFeature f : needs) {
      if (provider != nullptr) {  // an instruction set may be left out of a build
        CpuInfo c = every_feature();
        c.features = c.features.without(f);
        EXPECT_FALSE(provider->available(c).usable) << provider->name() << " without " << to_string(f);
        EXPECT_EQ(provider->available(c).reason, "cpu lacks " + std::string(to_string(f)));
      }
    }
  }
}

/// Of instruction sets, one within the other.
int level(std::string_view provider) {
  const std::pair<std::string_view, int> levels[] = {{"scalar", 0},       {"xsimd_avx2", 1},   {"avx2", 1},
                                                     {"xsimd_avx512", 2}, {"avx512", 3},       {"xsimd_neon64", 1},
                                                     {"neon", 1},         {"neon_dotprod", 2}, {"neon_i8mm", 3}};
  for (const auto& [name, rank] : levels) {
    if (name == provider) return rank;
  }
  ADD_FAILURE() << provider << " has no level here";
  return 0;
}

TEST(Builtin, EachCapHoldsByInstructionSetNotPriority) {
  for (const TableProvider& cap : builtin_providers()) {
    const KernelRegistry r = KernelRegistry::builtin(every_feature(), {{}, std::string(cap.name()), {}});
    ASSERT_TRUE(r.config_status().ok());
    for (const TableProvider& p : builtin_providers()) {
      const Availability a = r.usable(p);
      EXPECT_EQ(a.usable, level(p.name()) <= level(cap.name())) << p.name() << " under " << cap.name() << a.reason;
      if (!a.usable) {
        EXPECT_NE(a.reason.find(", above NIBBLAS_MAX_ISA=" + std::string(cap.name())), std::string::npos) << a.reason;
      }
    }
    for (const KernelKey& key : all_keys()) {
      if (is_legal(key.weights, key.compute)) {
        const std::string name = chosen(r, {.key = key});
        ASSERT_NE(find_builtin(name), nullptr) << text(key) << ": " << name;
        EXPECT_LE(level(name), level(cap.name())) << text(key);
      }
    }
  }
}

TEST(Builtin, AnUnknownCapListsTheBuiltInNames) {
  const KernelRegistry r = KernelRegistry::builtin(cpu(), {{}, "avx1024", {}});
  EXPECT_EQ(r.config_status().code(), StatusCode::invalid_argument);
  for (const TableProvider& p : builtin_providers()) {
    EXPECT_NE(r.config_status().message().find(p.name()), std::string::npos) << r.config_status().message();
  }
}

TEST(Builtin, TheSharedRegistryIsMadeOnce) {
  EXPECT_EQ(&KernelRegistry::shared(), &KernelRegistry::shared());
  EXPECT_EQ(KernelRegistry::shared().cpu().arch, host_cpu().arch);
}

}  // namespace
}  // namespace nibblas
