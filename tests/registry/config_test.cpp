// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "fakes.hpp"
#include "registry_snapshot.hpp"

namespace nibblas {
namespace {

using namespace fakes;

/// scalar has both keys; avx2 only f32; avx512 both but the CPU lacks it; vendor is from outside.
class ConfigTest : public ::testing::Test {
 protected:
  KernelRegistry with(RegistryConfig config) {
    KernelRegistry r(cpu({CpuFeature::avx2}), std::move(config));
    for (const Provider* p : {&scalar_, &avx2_, &avx512_}) {
      EXPECT_TRUE(r.add(*p).ok());
    }
    return r;
  }
  KernelRegistry forced(std::string name) { return with({std::move(name), {}, {}}); }
  KernelRegistry disabled(std::string list) { return with({{}, {}, std::move(list)}); }

  static constexpr CpuFeatures kAvx2 = CpuFeatures{}.with(CpuFeature::avx2);
  static constexpr CpuFeatures kAvx512 = kAvx2.with(CpuFeature::avx512f);

  const Provider scalar_{"scalar", 0, {tiled(kF32, "s.f32"), tiled(kQ4, "s.q4")}};
  const Provider avx2_{"avx2", 100, {needing(tiled(kF32, "a2.f32"), kAvx2)}, kAvx2};
  const Provider avx512_{
      "avx512", 110, {needing(tiled(kF32, "a5.f32"), kAvx512), needing(tiled(kQ4, "a5.q4"), kAvx512)}, kAvx512};
  const Provider vendor_{"Vendor", 500, {whole(kF32, "v.f32")}};
};

void expect_error(const KernelRegistry& r, StatusCode code, const std::string& message) {
  EXPECT_EQ(r.config_status().code(), code);
  EXPECT_EQ(r.config_status().message(), message);
  const Resolution res = r.resolve({.key = kF32});
  EXPECT_EQ(res.status.code(), code);
  EXPECT_EQ(res.status.message(), message);
  EXPECT_EQ(res.trail.size(), r.providers().size());
  EXPECT_EQ(r.select({.key = kF32}), nullptr);
  EXPECT_EQ(r.select({.key = kF32, .provider = "scalar"}), nullptr);
  EXPECT_NE(r.explain({.key = kF32}).find(message), std::string::npos);
}

TEST_F(ConfigTest, NothingSet) {
  const KernelRegistry r = with({});
  EXPECT_TRUE(r.config_status().ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "avx2");
}

TEST_F(ConfigTest, ForceKeepsScalarAsTheFloor) {
  KernelRegistry r = forced(" AVX2 ");
  ASSERT_TRUE(r.config_status().ok());
  ASSERT_TRUE(r.add(vendor_).ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "avx2");
  EXPECT_EQ(chosen(r, {.key = kQ4}), "scalar");
  const Resolution f32 = r.resolve({.key = kF32});
  EXPECT_EQ(reason(f32, "avx2"), "forced by NIBBLAS_PROVIDER");
  EXPECT_EQ(reason(f32, "scalar"), "only the floor below the forced avx2");
  EXPECT_EQ(reason(f32, "Vendor"), "NIBBLAS_PROVIDER=AVX2 forces another");
  EXPECT_EQ(reason(f32, "avx512"), "cpu lacks avx512f");
  const Resolution q4 = r.resolve({.key = kQ4});
  EXPECT_EQ(reason(q4, "avx2"), "no kernel for q4_0 int8");
  EXPECT_EQ(reason(q4, "scalar"), "the floor: the provider forced by NIBBLAS_PROVIDER cannot serve this");
  EXPECT_EQ(r.usable(vendor_).reason, "NIBBLAS_PROVIDER=AVX2 forces another");
  EXPECT_EQ(r.resolve({.key = kF32, .provider = "vendor"}).status.code(), StatusCode::unsupported);
  EXPECT_EQ(chosen(r, {.key = kF32, .provider = "scalar"}), "scalar");
}

TEST_F(ConfigTest, ForcedScalarIsAlone) {
  const KernelRegistry r = forced("scalar");
  EXPECT_EQ(chosen(r, {.key = kF32}), "scalar");
  EXPECT_EQ(reason(r.resolve({.key = kF32}), "avx2"), "NIBBLAS_PROVIDER=scalar forces another");
}

TEST_F(ConfigTest, AForcedProviderBelowScalarStillComesFirst) {
  const Provider slow("slow", -10, {tiled(kF32, "slow.f32")});
  KernelRegistry r = forced("slow");
  ASSERT_TRUE(r.add(slow).ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "slow");
  EXPECT_EQ(chosen(r, {.key = kQ4}), "scalar");
}

TEST_F(ConfigTest, ForcingTheUnknownIsAnErrorUntilItIsAdded) {
  KernelRegistry r = forced("vendor");
  expect_error(r, StatusCode::invalid_argument, "NIBBLAS_PROVIDER=vendor: no such provider; valid: avx2, scalar");
  ASSERT_TRUE(r.add(vendor_).ok());
  EXPECT_TRUE(r.config_status().ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "Vendor");
  ASSERT_TRUE(r.remove("vendor").ok());
  EXPECT_FALSE(r.config_status().ok()) << "falling back would be silent";
}

TEST_F(ConfigTest, ForcingTheUnusableIsAnError) {
  expect_error(forced("avx512"), StatusCode::unsupported,
               "NIBBLAS_PROVIDER=avx512: cpu lacks avx512f; valid: avx2, scalar");
  expect_error(with({"avx2", {}, "avx2"}), StatusCode::unsupported,
               "NIBBLAS_PROVIDER=avx2: disabled by NIBBLAS_DISABLE; valid: scalar");
}

TEST_F(ConfigTest, AnEmptyRegistryHasNoValidNames) {
  const KernelRegistry r(cpu(), {"x", {}, {}});
  expect_error(r, StatusCode::invalid_argument, "NIBBLAS_PROVIDER=x: no such provider; valid: (none)");
}

TEST_F(ConfigTest, DisableProvidersAndKernels) {
  const KernelRegistry providers = disabled(" ,, aVx2 ,,");
  ASSERT_TRUE(providers.config_status().ok()) << providers.config_status().message();
  EXPECT_EQ(chosen(providers, {.key = kF32}), "scalar");
  EXPECT_EQ(reason(providers.resolve({.key = kF32}), "avx2"), "disabled by NIBBLAS_DISABLE");
  EXPECT_EQ(providers.usable(avx2_).reason, "disabled by NIBBLAS_DISABLE");
  EXPECT_EQ(providers.resolve({.key = kF32, .provider = "avx2"}).status.code(), StatusCode::unsupported);

  const KernelRegistry kernels = disabled("A2.F32,s.q4");
  EXPECT_EQ(chosen(kernels, {.key = kF32}), "scalar");
  EXPECT_EQ(reason(kernels.resolve({.key = kF32}), "avx2"), "a2.f32 disabled by NIBBLAS_DISABLE");
  EXPECT_TRUE(kernels.usable(avx2_).usable);
  const Resolution none = kernels.resolve({.key = kQ4});
  EXPECT_EQ(none.status.code(), StatusCode::unsupported);
  EXPECT_NE(none.status.message().find("s.q4 disabled by NIBBLAS_DISABLE"), std::string::npos);
}

TEST_F(ConfigTest, DisablingTheUnknownListsWhatThereIs) {
  KernelRegistry r = disabled("avx2,vendor, x.y");
  expect_error(r, StatusCode::invalid_argument,
               "NIBBLAS_DISABLE=vendor, x.y: no provider or kernel has that name; valid: avx512, avx2, scalar, or one "
               "of their kernels, as explain() names them");
}

TEST_F(ConfigTest, NamesFromOutsideAreBoundedAndEscapedInMessages) {
  const std::string hostile = std::string("a\x1b[31m\n") + std::string(100000, 'x');
  const std::string echoed = "a\\x1b[31m\\x0a" + std::string(64 - 7, 'x') + "...";
  for (const RegistryConfig& config :
       {RegistryConfig{hostile, {}, {}}, RegistryConfig{{}, hostile, {}}, RegistryConfig{{}, {}, hostile}}) {
    const std::string message = with(config).config_status().message();
    EXPECT_NE(message.find("=" + echoed + ": no "), std::string::npos) << message;
    EXPECT_LT(message.size(), 300u);
  }
  KernelRegistry r = with({});
  const std::string asked = "no provider '" + echoed + "'; valid: avx512, avx2, scalar";
  EXPECT_EQ(r.resolve({.key = kF32, .provider = hostile}).status.message(), asked);
  EXPECT_EQ(r.remove(hostile).message(), asked);
  EXPECT_NE(r.explain({.key = kF32, .provider = hostile}).find(", provider " + echoed + " ->"), std::string::npos);

  std::string many;
  for (int i = 0; i < 1000; ++i) many += "no" + std::to_string(i) + ",";
  const std::string message = disabled(many).config_status().message();
  EXPECT_NE(message.find("NIBBLAS_DISABLE=no0, no1, no2, no3 and 996 more: "), std::string::npos) << message;
}

TEST_F(ConfigTest, ADisabledOutsiderMayComeAndGo) {
  KernelRegistry r = disabled("VENDOR,v.f32");
  EXPECT_FALSE(r.config_status().ok());
  ASSERT_TRUE(r.add(vendor_).ok());
  EXPECT_TRUE(r.config_status().ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "avx2");
  ASSERT_TRUE(r.remove("vendor").ok());
  EXPECT_TRUE(r.config_status().ok()) << "what is gone is certainly off";
  EXPECT_EQ(chosen(r, {.key = kF32}), "avx2");
  ASSERT_TRUE(r.add(vendor_).ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "avx2");
}

// ---- NIBBLAS_MAX_ISA: a cap of CPU features, whatever the priorities ------------------------------------------------

class MaxIsaTest : public ConfigTest {
 protected:
  struct State {
    explicit State(RegistryConfig c) : config(std::move(c)), parsed(config) {}
    RegistryConfig config;
    ParsedConfig parsed;
    CpuInfo cpu = fakes::cpu({CpuFeature::avx2, CpuFeature::avx512f});
    Status problem;
    std::vector<Member> members;

    void add(const Provider& p, bool builtin) {
      members.push_back({&p, builtin, std::string(p.name()), p.priority(), p.available(cpu), p.kernels()});
    }
    Snapshot snapshot() const { return Snapshot({members, cpu, parsed, {}, problem}); }
  };

  State capped(std::string isa, std::string force = {}) {
    State s({std::move(force), std::move(isa), {}});
    s.add(scalar_, true);
    s.add(avx2_, true);
    s.add(avx512_, true);
    s.add(portable2_, true);
    s.add(portable512_, true);
    s.add(vendor_, false);
    return s;
  }

  const Provider portable2_{"portable2", 80, {needing(tiled(kQ4, "p2.q4"), kAvx2)}, kAvx2};
  const Provider portable512_{"portable512", 90, {needing(tiled(kQ4, "p5.q4"), kAvx512)}, kAvx512};
};

TEST_F(MaxIsaTest, CapsFeaturesNotPriorities) {
  const auto usable = [](const Snapshot& snapshot) {
    std::string names;
    for (const Entry& e : snapshot.entries()) {
      if (e.off.empty()) names += e.member.name + " ";
    }
    return names;
  };
  EXPECT_EQ(usable(capped("avx512").snapshot()), "Vendor avx512 avx2 portable512 portable2 scalar ");
  EXPECT_EQ(usable(capped("portable512").snapshot()), "Vendor avx512 avx2 portable512 portable2 scalar ");
  EXPECT_EQ(usable(capped(" AVX2").snapshot()), "Vendor avx2 portable2 scalar ");
  EXPECT_EQ(usable(capped("portable2").snapshot()), "Vendor avx2 portable2 scalar ");
  EXPECT_EQ(usable(capped("scalar").snapshot()), "Vendor scalar ");
}

TEST_F(MaxIsaTest, SaysWhichFeatureIsAboveTheCap) {
  const State avx2 = capped(" AVX2");
  const Snapshot s2 = avx2.snapshot();
  ASSERT_TRUE(s2.config_status().ok());
  EXPECT_EQ(s2.resolve({.key = kQ4}).provider, "portable2");
  EXPECT_EQ(reason(s2.resolve({.key = kQ4}), "avx512"), "needs avx512f, above NIBBLAS_MAX_ISA=AVX2");
  EXPECT_EQ(s2.resolve({.key = kF32, .provider = "avx2"}).provider, "avx2");
  const State scalar = capped("scalar");
  EXPECT_EQ(reason(scalar.snapshot().resolve({.key = kF32}), "avx2"), "needs avx2, above NIBBLAS_MAX_ISA=scalar");
}

TEST_F(MaxIsaTest, AnOutsiderStaysAsFarAsItsKernelsNameNoFeatureAbove) {
  const State s = capped("scalar");
  EXPECT_EQ(s.snapshot().resolve({.key = kF32}).provider, "Vendor") << "it names no needs";
  const Provider mixed("mixed", 600, {tiled(kF32, "m.f32"), needing(tiled(kQ4, "m.q4"), kAvx512)});
  const Provider wide("wide", 700, {needing(tiled(kF32, "w.f32"), kAvx512)});
  State t = capped("avx2");
  t.add(mixed, false);
  t.add(wide, false);
  const Snapshot snapshot = t.snapshot();
  EXPECT_EQ(snapshot.resolve({.key = kF32}).provider, "mixed");
  EXPECT_EQ(snapshot.resolve({.key = kQ4}).provider, "portable2");
  EXPECT_EQ(reason(snapshot.resolve({.key = kQ4}), "m.q4"), "needs avx512f, above NIBBLAS_MAX_ISA=avx2");
  EXPECT_EQ(snapshot.find("wide")->off, "needs avx512f, above NIBBLAS_MAX_ISA=avx2");
}

TEST_F(MaxIsaTest, OnlyBuiltInNamesAreValid) {
  const State outsider = capped("vendor");
  const Snapshot snap = outsider.snapshot();
  EXPECT_EQ(snap.config_status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(snap.config_status().message(),
            "NIBBLAS_MAX_ISA=vendor: no built-in provider has that name; valid: avx512, avx2, portable512, portable2, "
            "scalar");
  EXPECT_EQ(snap.select({.key = kF32}), nullptr);
}

TEST_F(MaxIsaTest, ACapThatTheCpuCannotReachIsFine) {
  State s = capped("avx512");
  s.cpu = fakes::cpu({CpuFeature::avx2});
  s.members.clear();
  s.add(scalar_, true);
  s.add(avx2_, true);
  s.add(avx512_, true);
  const Snapshot snap = s.snapshot();
  ASSERT_TRUE(snap.config_status().ok());
  EXPECT_EQ(snap.resolve({.key = kF32}).provider, "avx2");
}

TEST_F(MaxIsaTest, ForcingAboveTheCapIsAnError) {
  const State s = capped("avx2", "avx512");
  EXPECT_EQ(
      s.snapshot().config_status().message(),
      "NIBBLAS_PROVIDER=avx512: needs avx512f, above NIBBLAS_MAX_ISA=avx2; valid: Vendor, avx2, portable2, scalar");
}

TEST_F(MaxIsaTest, AProblemAtStartupComesFirst) {
  State s = capped("nope");
  s.problem = {StatusCode::invalid_argument, "startup"};
  EXPECT_EQ(s.snapshot().config_status().message(), "startup");
  EXPECT_EQ(s.snapshot().select({.key = kF32}), nullptr);
}

// ---- environment
// -----------------------------------------------------------------------------------------------------

class EnvTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"NIBBLAS_PROVIDER", "NIBBLAS_MAX_ISA", "NIBBLAS_DISABLE"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(EnvTest, EachVariableHasItsField) {
  TearDown();
  const RegistryConfig none = RegistryConfig::from_env();
  EXPECT_EQ(none.force_provider + none.max_isa + none.disable, "");
  ::setenv("NIBBLAS_PROVIDER", "p", 1);
  ::setenv("NIBBLAS_MAX_ISA", "m", 1);
  ::setenv("NIBBLAS_DISABLE", "d,e", 1);
  const RegistryConfig all = RegistryConfig::from_env();
  EXPECT_EQ(all.force_provider, "p");
  EXPECT_EQ(all.max_isa, "m");
  EXPECT_EQ(all.disable, "d,e");
}

TEST_F(EnvTest, EmptyIsUnset) {
  for (const char* value : {"", "  "}) {
    for (const char* list : {"", "  ", ",", " , ,"}) {
      ::setenv("NIBBLAS_PROVIDER", value, 1);
      ::setenv("NIBBLAS_MAX_ISA", value, 1);
      ::setenv("NIBBLAS_DISABLE", list, 1);
      const KernelRegistry r(cpu(), RegistryConfig::from_env());
      EXPECT_TRUE(r.config_status().ok()) << r.config_status().message();
    }
  }
}

TEST_F(EnvTest, OnlyBuiltinReadsIt) {
  ::setenv("NIBBLAS_PROVIDER", "no-such-provider", 1);
  EXPECT_FALSE(KernelRegistry::builtin().config_status().ok());
  EXPECT_TRUE(KernelRegistry(cpu()).config_status().ok());
  KernelRegistry r = KernelRegistry::builtin();
  const Provider late("No-Such-Provider", 3, {tiled(kF32, "late.f32")});
  ASSERT_TRUE(r.add(late).ok());
  EXPECT_TRUE(r.config_status().ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "No-Such-Provider");
}

}  // namespace
}  // namespace nibblas
