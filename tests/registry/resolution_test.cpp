// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fakes.hpp"

namespace nibblas {
namespace {

using namespace fakes;

class ResolutionTest : public ::testing::Test {
 protected:
  ResolutionTest() {
    for (const Provider* p : {&low_, &high_, &top_}) {
      EXPECT_TRUE(r_.add(*p).ok());
    }
  }

  const Provider low_{"scalar", 0, {tiled(kF32, "low.f32"), tiled(kQ4, "low.q4")}};
  const Provider high_{"high", 100, {tiled(kF32, "high.f32")}};
  const Provider top_{"top", 200, {tiled(kF32, "top.f32")}, CpuFeatures{}.with(CpuFeature::avx512vnni)};
  KernelRegistry r_{cpu({CpuFeature::avx2})};
};

TEST_F(ResolutionTest, IsPerKernelNotPerProvider) {
  EXPECT_EQ(chosen(r_, {.key = kF32}), "high");
  EXPECT_EQ(chosen(r_, {.key = kQ4}), "scalar");
}

TEST_F(ResolutionTest, TheTrailNamesEveryProviderAndWhyItLost) {
  const Resolution r = r_.resolve({.key = kF32});
  ASSERT_EQ(r.trail.size(), 3u);
  EXPECT_EQ(r.trail[0].provider, "top");
  EXPECT_EQ(r.trail[0].kernel, "top.f32");
  EXPECT_EQ(r.trail[0].priority, 200);
  EXPECT_FALSE(r.trail[0].chosen);
  EXPECT_EQ(r.trail[0].reason, "cpu lacks avx512vnni");
  EXPECT_TRUE(r.trail[1].chosen);
  EXPECT_EQ(r.trail[1].reason, "highest priority of those that can");
  EXPECT_EQ(r.trail[2].reason, "lower priority than high");
  EXPECT_EQ(reason(r_.resolve({.key = kQ4}), "high"), "no kernel for q4_0 int8");
}

TEST_F(ResolutionTest, ExplainIsAHeadlineAndALineACandidate) {
  EXPECT_EQ(r_.explain({.key = kF32}),
            "matmul f32 f32 -> high.f32\n"
            "    top (priority 200) top.f32: cpu lacks avx512vnni\n"
            "  * high (priority 100) high.f32: highest priority of those that can\n"
            "    scalar (priority 0) low.f32: lower priority than high\n");
  EXPECT_EQ(r_.explain({.key = kQ4, .provider = "HIGH", .allow_tolerance = true, .layout_id = 5}),
            "matmul q4_0 int8, packed weights of layout 5, provider HIGH, tolerance allowed -> error: no kernel may "
            "serve matmul "
            "q4_0 int8 (high: no kernel for q4_0 int8)\n"
            "    top (priority 200) -: cpu lacks avx512vnni\n"
            "    high (priority 100) -: no kernel for q4_0 int8\n"
            "    scalar (priority 0) low.q4: not the provider named in the request\n");
}

TEST_F(ResolutionTest, ANamedProviderIsTheOnlyOne) {
  EXPECT_EQ(chosen(r_, {.key = kF32, .provider = "Scalar"}), "scalar");
  EXPECT_EQ(r_.resolve({.key = kF32, .provider = "scalar"}).trail[2].reason, "named in the request");

  const Resolution unknown = r_.resolve({.key = kF32, .provider = "nope"});
  EXPECT_EQ(unknown.status.code(), StatusCode::not_found);
  EXPECT_EQ(unknown.status.message(), "no provider 'nope'; valid: top, high, scalar");
  const Resolution unusable = r_.resolve({.key = kF32, .provider = "top"});
  EXPECT_EQ(unusable.status.code(), StatusCode::unsupported);
  EXPECT_EQ(unusable.status.message(), "provider 'top' cannot be used: cpu lacks avx512vnni");
  const Resolution lacks = r_.resolve({.key = kQ4, .provider = "high"});
  EXPECT_EQ(lacks.status.code(), StatusCode::unsupported);
  EXPECT_NE(lacks.status.message().find("no kernel for q4_0 int8"), std::string::npos);
  for (const char* name : {"nope", "top"}) {
    EXPECT_EQ(r_.select({.key = kF32, .provider = name}), nullptr);
  }
  EXPECT_EQ(r_.select({.key = kQ4, .provider = "high"}), nullptr);
}

TEST_F(ResolutionTest, IllegalKeysNameFormatComputeAndWhatIsLegal) {
  const auto message = [this](KernelKey key) {
    const Resolution r = r_.resolve({.key = key});
    EXPECT_EQ(r.status.code(), StatusCode::unsupported);
    EXPECT_EQ(r.kernel, nullptr);
    EXPECT_EQ(r_.select({.key = key}), nullptr);
    return r.status.message();
  };
  EXPECT_EQ(message({Op::matmul, DType::f32, Compute::int8}), "format f32 has no compute int8; legal: f32");
  EXPECT_EQ(message({Op::gemv, DType::q4_k, Compute::int8_token}),
            "format q4_k has no compute int8_token; legal: f32, int8");
  EXPECT_EQ(message({Op::matmul, DType::q4_0, Compute::automatic}),
            "format q4_0 has no compute automatic; legal: f32, int8");
  EXPECT_EQ(message({Op::matmul, DType::q4_0, static_cast<Compute>(77)}),
            "format q4_0 has no compute 77; legal: f32, int8");
  EXPECT_EQ(message({Op::matmul, static_cast<DType>(99), Compute::f32}), "unknown format 99");
  EXPECT_EQ(message({static_cast<Op>(4), DType::f32, Compute::f32}), "unknown op 4");
  EXPECT_FALSE(r_.explain({.key = {static_cast<Op>(4), static_cast<DType>(99), static_cast<Compute>(77)}}).empty());
}

TEST(Resolution, EqualPrioritiesGoToTheFirstAdded) {
  const Provider a("a", 5, {tiled(kF32, "ka")});
  const Provider b("b", 5, {tiled(kF32, "kb")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(b).ok());
  ASSERT_TRUE(r.add(a).ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "b");
  EXPECT_EQ(reason(r.resolve({.key = kF32}), "a"), "same priority as b, which was added first");
}

TEST(Resolution, AKernelsOwnNeedsCountToo) {
  Kernel wide = tiled(kF32, "wide");
  wide.needs = CpuFeatures{}.with(CpuFeature::avx512bf16);
  const Provider a("a", 5, {wide, tiled(kF32, "plain")});
  KernelRegistry without(cpu());
  KernelRegistry with(cpu({CpuFeature::avx512bf16}));
  ASSERT_TRUE(without.add(a).ok());
  ASSERT_TRUE(with.add(a).ok());
  EXPECT_STREQ(without.select({.key = kF32})->name, "plain");
  EXPECT_STREQ(with.select({.key = kF32})->name, "wide");
  EXPECT_EQ(reason(without.resolve({.key = kF32}), "wide"), "cpu lacks avx512bf16");
  EXPECT_EQ(reason(with.resolve({.key = kF32}), "plain"), "listed after wide");
}

TEST(Resolution, GemvAndMatmulKernelsCompete) {
  const Provider low("low", 1, {tiled(kQ4, "low.matmul"), tiled(kQ4Gemv, "low.gemv")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(low).ok());
  EXPECT_STREQ(r.select({.key = kQ4Gemv})->name, "low.gemv") << "an exact op wins inside a provider";
  EXPECT_EQ(reason(r.resolve({.key = kQ4Gemv}), "low.matmul"), "low.gemv is made for the op");
  EXPECT_STREQ(r.select({.key = kQ4})->name, "low.matmul");

  const Provider high("high", 2, {tiled(kQ4, "high.matmul")});
  ASSERT_TRUE(r.add(high).ok());
  EXPECT_STREQ(r.select({.key = kQ4Gemv})->name, "high.matmul") << "priority wins between providers";
  EXPECT_STREQ(r.select({.key = kQ4})->name, "high.matmul");

  const Provider top("top", 3, {tiled(kQ4Gemv, "top.gemv")});
  ASSERT_TRUE(r.add(top).ok());
  EXPECT_STREQ(r.select({.key = kQ4Gemv})->name, "top.gemv");
  EXPECT_STREQ(r.select({.key = kQ4})->name, "high.matmul") << "a gemv kernel serves nothing else";
  EXPECT_EQ(reason(r.resolve({.key = kQ4}), "top"), "no matmul kernel for q4_0 int8");
}

TEST(Resolution, ToleranceIsChosenOnlyWhenAskedFor) {
  const Provider exact("exact", 1, {tiled(kF32, "exact.f32")});
  const Provider fast("fast", 1000, {tolerant(whole(kF32, "fast.f32"))});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(exact).ok());
  ASSERT_TRUE(r.add(fast).ok());
  EXPECT_EQ(chosen(r, {.key = kF32}), "exact");
  EXPECT_EQ(reason(r.resolve({.key = kF32}), "fast"), "results are tolerance; not opted in");
  EXPECT_EQ(chosen(r, {.key = kF32, .allow_tolerance = true}), "fast");
  EXPECT_EQ(reason(r.resolve({.key = kF32, .allow_tolerance = true}), "fast"),
            "highest priority; results are tolerance, opted in");
  EXPECT_EQ(chosen(r, {.key = kF32, .provider = "fast"}), "fast");
  EXPECT_EQ(chosen(r, {.key = kF32Gemv, .allow_tolerance = true}), "fast");

  KernelRegistry forced(cpu(), {.force_provider = "fast", .max_isa = {}, .disable = {}});
  ASSERT_TRUE(forced.add(exact).ok());
  ASSERT_TRUE(forced.add(fast).ok());
  EXPECT_EQ(chosen(forced, {.key = kF32}), "fast");
}

TEST(Resolution, ToleranceAloneIsAStatus) {
  const Provider fast("fast", 1000, {tolerant(whole(kF32, "fast.f32"))});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(fast).ok());
  const Resolution res = r.resolve({.key = kF32});
  EXPECT_EQ(res.status.code(), StatusCode::unsupported);
  EXPECT_NE(res.status.message().find("fast: results are tolerance; not opted in"), std::string::npos)
      << res.status.message();
}

TEST(Resolution, TheLayoutOfTheWeightsDecidesWhoCanReadThem) {
  const std::uint32_t panels = panel_layout(DType::q4_0).id;
  const Provider tile("tile", 1, {tiled(kQ4, "tile.q4")});
  const Provider raw("raw", 2, {whole(kQ4, "raw.q4")});
  const Provider own("own", 3, {whole(kQ4, "own.q4", 0x1007)});
  KernelRegistry r(cpu());
  for (const Provider* p : {&tile, &raw, &own}) {
    ASSERT_TRUE(r.add(*p).ok());
  }
  EXPECT_EQ(chosen(r, {.key = kQ4}), "own");
  EXPECT_EQ(chosen(r, {.key = kQ4, .layout_id = panels}), "tile");
  EXPECT_EQ(chosen(r, {.key = kQ4, .layout_id = 0x1007}), "own");
  const Resolution packed = r.resolve({.key = kQ4, .layout_id = panels});
  EXPECT_EQ(reason(packed, "raw"), "reads rows as in the file, the weights are packed in layout 5");
  EXPECT_EQ(reason(packed, "own"), "reads rows as in the file, the weights are packed in layout 5");
  const Resolution foreign = r.resolve({.key = kQ4, .layout_id = 0x1007});
  EXPECT_EQ(reason(foreign, "tile"), "reads panels of layout 5, the weights are packed in layout 4103");
  EXPECT_EQ(reason(foreign, "raw"), "reads rows as in the file, the weights are packed in layout 4103");
  for (const std::uint32_t nobody : {panels + 1, 0xfffu, 0x1008u}) {
    const Resolution none = r.resolve({.key = kQ4, .layout_id = nobody});
    EXPECT_EQ(none.status.code(), StatusCode::unsupported) << nobody;
    EXPECT_EQ(r.select({.key = kQ4, .layout_id = nobody}), nullptr);
  }
  EXPECT_EQ(r.resolve({.key = kQ4, .provider = "raw", .layout_id = panels}).status.code(), StatusCode::unsupported);
}

TEST(Resolution, PreparedActivationsAreForTiledKernels) {
  const Provider tile("tile", 1, {tiled(kQ4, "tile.q4")});
  const Provider raw("raw", 2, {whole(kQ4, "raw.q4")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(tile).ok());
  ASSERT_TRUE(r.add(raw).ok());
  const KernelRequest prepared{.key = kQ4, .tiled_only = true};
  EXPECT_EQ(chosen(r, prepared), "tile");
  EXPECT_STREQ(r.select(prepared)->name, "tile.q4");
  EXPECT_EQ(reason(r.resolve(prepared), "raw"), "reads rows of X, the activations are prepared");
  EXPECT_EQ(r.explain(prepared).substr(0, 40), "matmul q4_0 int8, X prepared -> tile.q4\n");
  EXPECT_EQ(r.select({.key = kQ4, .provider = "raw", .tiled_only = true}), nullptr);
}

TEST(Resolution, TernaryFormatsShareAPanelLayoutButNotKernels) {
  const Provider p("p", 1, {tiled({Op::matmul, DType::tq2_0, Compute::int8}, "tq2")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(p).ok());
  const std::uint32_t layout = panel_layout(DType::tq2_0).id;
  EXPECT_NE(r.select({.key = {Op::matmul, DType::tq2_0, Compute::int8}, .layout_id = layout}), nullptr);
  EXPECT_EQ(r.select({.key = {Op::matmul, DType::tq1_0, Compute::int8}, .layout_id = layout}), nullptr);
}

}  // namespace
}  // namespace nibblas
