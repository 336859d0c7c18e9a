// SPDX-License-Identifier: Apache-2.0
#include "nibblas/registry.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "fakes.hpp"

namespace nibblas {
namespace {

using namespace fakes;

TEST(Registry, StartsEmpty) {
  const KernelRegistry r(cpu());
  EXPECT_TRUE(r.config_status().ok());
  EXPECT_TRUE(r.providers().empty());
  EXPECT_EQ(r.find("scalar"), nullptr);
  EXPECT_EQ(r.select({.key = kF32}), nullptr);
  const Resolution res = r.resolve({.key = kF32});
  EXPECT_EQ(res.status.code(), StatusCode::unsupported);
  EXPECT_NE(res.status.message().find("empty"), std::string::npos) << res.status.message();
  EXPECT_TRUE(res.trail.empty());
  EXPECT_EQ(r.cpu().arch, "paper");
}

TEST(Registry, FindIgnoresCase) {
  const Provider p("Fast-ISA", 7, {tiled(kF32, "k")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(p).ok());
  for (const char* name : {"Fast-ISA", "fast-isa", "FAST-ISA"}) {
    EXPECT_EQ(r.find(name), &p) << name;
  }
  EXPECT_EQ(r.find("Fast-IS"), nullptr);
  EXPECT_EQ(r.find(""), nullptr);
}

TEST(Registry, TheSameObjectTwiceIsANoOp) {
  const Provider p("a", 1, {tiled(kF32, "k")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(p).ok());
  EXPECT_TRUE(r.add(p).ok());
  EXPECT_EQ(r.providers().size(), 1u);
}

TEST(Registry, AnotherProviderOfTheSameNameIsRefused) {
  const Provider a("Twin", 1, {tiled(kF32, "k")});
  const Provider b("tWIN", 2, {tiled(kQ4, "l")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(a).ok());
  const Status s = r.add(b);
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_NE(s.message().find("'tWIN'"), std::string::npos) << s.message();
  EXPECT_NE(s.message().find("'Twin'"), std::string::npos) << s.message();
  EXPECT_EQ(r.find("twin"), &a);
  EXPECT_EQ(r.select({.key = kQ4}), nullptr);
}

TEST(Registry, ProvidersAreListedByPriority) {
  const Provider a("a", 1, {});
  const Provider b("b", 100, {});
  const Provider c("c", -5, {});
  const Provider d("d", 100, {});
  KernelRegistry r(cpu());
  for (const Provider* p : {&a, &b, &c, &d}) {
    ASSERT_TRUE(r.add(*p).ok());
  }
  const std::vector<const KernelProvider*> expected{&b, &d, &a, &c};
  EXPECT_EQ(r.providers(), expected);
}

TEST(Registry, RemoveByName) {
  const Provider a("a", 1, {tiled(kF32, "ka")});
  const Provider b("b", 2, {tiled(kF32, "kb")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(a).ok());
  ASSERT_TRUE(r.add(b).ok());
  EXPECT_STREQ(r.select({.key = kF32})->name, "kb");
  ASSERT_TRUE(r.remove("B").ok());
  EXPECT_STREQ(r.select({.key = kF32})->name, "ka");
  const Status s = r.remove("b");
  EXPECT_EQ(s.code(), StatusCode::not_found);
  EXPECT_NE(s.message().find("valid: a"), std::string::npos) << s.message();
  ASSERT_TRUE(r.add(b).ok());
  EXPECT_STREQ(r.select({.key = kF32})->name, "kb");
}

TEST(Registry, UsableSaysWhyNot) {
  const Provider p("p", 1, {}, CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::fma));
  const Provider stranger("s", 1, {});
  KernelRegistry r(cpu({CpuFeature::fma}));
  ASSERT_TRUE(r.add(p).ok());
  EXPECT_FALSE(r.usable(p).usable);
  EXPECT_EQ(r.usable(p).reason, "cpu lacks avx2");
  EXPECT_FALSE(r.usable(stranger).usable);
  EXPECT_EQ(r.usable(stranger).reason, "not in this registry");
}

TEST(Registry, MovedFromIsAStatusNotACrash) {
  const Provider p("p", 1, {tiled(kF32, "k")});
  KernelRegistry a(cpu());
  ASSERT_TRUE(a.add(p).ok());
  KernelRegistry b = std::move(a);
  EXPECT_STREQ(b.select({.key = kF32})->name, "k");
  // NOLINTBEGIN(bugprone-use-after-move): that is the test
  EXPECT_FALSE(a.config_status().ok());
  EXPECT_FALSE(a.add(p).ok());
  EXPECT_FALSE(a.remove("p").ok());
  EXPECT_EQ(a.find("p"), nullptr);
  EXPECT_TRUE(a.providers().empty());
  EXPECT_FALSE(a.usable(p).usable);
  EXPECT_EQ(a.select({.key = kF32}), nullptr);
  EXPECT_FALSE(a.resolve({.key = kF32}).status.ok());
  EXPECT_FALSE(a.explain({.key = kF32}).empty());
  EXPECT_EQ(&a.cpu(), &host_cpu());
  // NOLINTEND(bugprone-use-after-move)
  a = std::move(b);
  EXPECT_STREQ(a.select({.key = kF32})->name, "k");
}

class Thrower final : public KernelProvider {
 public:
  std::string_view name() const noexcept override { return "thrower"; }
  int priority() const noexcept override { return 1; }
  Availability available(const CpuInfo&) const override { throw std::runtime_error("device on fire"); }
  std::span<const Kernel> kernels() const noexcept override { return {}; }
};

TEST(Registry, AProviderThatThrowsIsAStatus) {
  const Thrower p;
  KernelRegistry r(cpu());
  const Status s = r.add(p);
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_EQ(s.message(), "provider 'thrower' threw an exception while it was added: device on fire");
  EXPECT_TRUE(r.providers().empty());
}

// ---- malformed providers --------------------------------------------------------------------------------------------

struct Fault {
  const char* name;
  std::function<void(Kernel&)> make;
  const char* expected;  ///< part of the message
  bool from_whole = false;
};

class Malformed : public ::testing::TestWithParam<Fault> {};

TEST_P(Malformed, IsRefusedByNameAndNothingChanges) {
  const Fault& fault = GetParam();
  const Kernel base = fault.from_whole ? whole(kQ4, "bad") : tiled(kQ4, "bad");
  const Provider sound("sound", 1, {tiled(kF32, "good"), base});
  KernelRegistry fine(cpu());
  ASSERT_TRUE(fine.add(sound).ok()) << "the kernel is sound before the fault";

  Kernel bad = base;
  fault.make(bad);
  const Provider p("prov", 1, {tiled(kF32, "good"), bad});
  KernelRegistry r(cpu());
  const Status s = r.add(p);
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_NE(s.message().find("'prov', kernel 1 '" + std::string(bad.name == nullptr ? "" : bad.name).substr(0, 64)),
            std::string::npos)
      << s.message();
  EXPECT_NE(s.message().find(fault.expected), std::string::npos) << s.message();
  EXPECT_TRUE(r.providers().empty());
}

constexpr const char* kLongName = "a-name-of-more-than-sixty-four-bytes-does-not-fit-into-a-list-of-names";

const Fault kFaults[] = {
    {"no_prepare", [](Kernel& k) { k.tiled.prepare = nullptr; }, "tiled.prepare is null"},
    {"no_pack", [](Kernel& k) { k.tiled.pack = nullptr; }, "tiled.pack is null"},
    {"no_tile", [](Kernel& k) { k.tiled.tile = nullptr; }, "tiled.tile is null"},
    {"zero_step", [](Kernel& k) { k.tiled.k_step = 0; }, "k_step 0"},
    {"odd_step", [](Kernel& k) { k.tiled.k_step = 33; }, "k_step 33 is no multiple of the layout's block of 32"},
    {"no_state", [](Kernel& k) { k.tiled.state_floats = 0; }, "state_floats is 0"},
    {"huge_state", [](Kernel& k) { k.tiled.state_floats = std::size_t{1} << 58; },
     "state_floats is 288230376151711744, not in 1..1024"},
    {"no_stream", [](Kernel& k) { k.tiled.streams = 0; }, "streams 0"},
    {"many_streams", [](Kernel& k) { k.tiled.streams = 65; }, "streams 65"},
    {"many_streams_of_one", [](Kernel& k) { k.tiled.streams_of_one = 65; }, "streams_of_one 65"},
    {"both", [](Kernel& k) { k.whole.run = run; }, "both tiled and whole"},
    {"neither", [](Kernel& k) { k.tiled = {}; }, "neither tiled nor whole"},
    {"illegal_key", [](Kernel& k) { k.key.compute = Compute::int8_token; }, "format q4_0, compute int8_token"},
    {"garbage_compute", [](Kernel& k) { k.key.compute = static_cast<Compute>(77); }, "format q4_0, compute 77"},
    {"automatic", [](Kernel& k) { k.key.compute = Compute::automatic; }, "compute automatic"},
    {"garbage_format", [](Kernel& k) { k.key.weights = static_cast<DType>(200); }, "format 200"},
    {"garbage_op", [](Kernel& k) { k.key.op = static_cast<Op>(9); }, "unknown op"},
    {"garbage_results", [](Kernel& k) { k.results = static_cast<Results>(9); }, "results is neither"},
    {"null_name", [](Kernel& k) { k.name = nullptr; }, "name is empty"},
    {"empty_name", [](Kernel& k) { k.name = ""; }, "name is empty"},
    {"long_name", [](Kernel& k) { k.name = kLongName; }, "exceeds 64 bytes"},
    {"comma", [](Kernel& k) { k.name = "a,b"; }, "comma"},
    {"space", [](Kernel& k) { k.name = "a b"; }, "space"},
    {"twice", [](Kernel& k) { k.name = "GOOD"; }, "used twice"},
    {"whole_no_run", [](Kernel& k) { k.whole = {.packed_bytes = packed_bytes, .pack = pack_whole}; }, "run is null",
     true},
    {"whole_pack_only", [](Kernel& k) { k.whole.pack = pack_whole; }, "go together", true},
    {"whole_bytes_only", [](Kernel& k) { k.whole.packed_bytes = packed_bytes; }, "go together", true},
    {"whole_low_layout",
     [](Kernel& k) {
       k.whole.pack = pack_whole;
       k.whole.packed_bytes = packed_bytes;
       k.whole.layout_id = 5;
     },
     "layout_id 5 is below 4096", true},
    {"whole_layout_alone", [](Kernel& k) { k.whole.layout_id = 0x1000; }, "without whole.pack", true},
};
INSTANTIATE_TEST_SUITE_P(Registry, Malformed, ::testing::ValuesIn(kFaults),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(Registry, AKernelNameOfAnotherProviderIsTaken) {
  const Provider a("a", 1, {tiled(kF32, "matmul.f32")});
  const Provider b("b", 2, {tiled(kQ4, "MATMUL.f32")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(a).ok());
  const Status s = r.add(b);
  EXPECT_EQ(s.code(), StatusCode::invalid_argument);
  EXPECT_NE(s.message().find("taken by provider 'a'"), std::string::npos) << s.message();
  ASSERT_TRUE(r.remove("a").ok());
  EXPECT_TRUE(r.add(b).ok());
}

TEST(Registry, ProviderNamesMustFitTheEnvironmentVariables) {
  const std::string longest(64, 'p');
  for (const std::string& name : {std::string(), std::string("a,b"), std::string("a b"), std::string("tab\t"),
                                  std::string("esc\x1b[2J"), std::string("nul\0l", 5), longest + "p"}) {
    const Provider p(name, 1, {tiled(kF32, "k")});
    KernelRegistry r(cpu());
    const Status s = r.add(p);
    EXPECT_EQ(s.code(), StatusCode::invalid_argument) << name;
    EXPECT_LT(s.message().size(), 200u);
    for (const char c : s.message()) EXPECT_TRUE(c >= ' ' && c <= '~') << name;
  }
  const Provider p(longest, 1, {tiled(kF32, "k")});
  KernelRegistry r(cpu());
  EXPECT_TRUE(r.add(p).ok());
}

}  // namespace
}  // namespace nibblas
