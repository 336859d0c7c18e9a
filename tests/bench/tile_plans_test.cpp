// SPDX-License-Identifier: Apache-2.0
#include "tile_plans.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "commands.hpp"

namespace nibblas::bench {
namespace {

TilingOptions small_tiling() {
  TilingOptions o;
  o.run.shapes = {{96, 100}};  // 7 panels
  o.run.m = {70};              // 3 tiles of f32, 2 of int8
  o.run.weights = {DType::f32, DType::q4_0};
  o.run.computes = {Compute::automatic};
  o.run.providers = {"scalar"};
  o.run.seconds = 0;
  o.run.hot = true;
  o.row_block = 3;
  return o;
}

TEST(Tiling, PlansAndWhatTheyRead) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  const TilingOptions options = small_tiling();
  const auto list = make_cases(options.run, registry, nullptr);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->cases.size(), 2u);
  TilingRunner runner(options, registry);
  for (const Case& c : list->cases) {
    const TilingResult r = runner.run(c);
    EXPECT_EQ(r.why_not, "");
    EXPECT_FALSE(r.failed);
    EXPECT_GT(r.rel_l2, 0);
    ASSERT_EQ(r.plans.size(), 3u);
    for (const PlanResult& p : r.plans) {
      EXPECT_TRUE(p.same_bits);
      EXPECT_GT(p.seconds, 0);
    }
    const bool f32 = c.compute == Compute::f32;
    const double padded = 112.0 / 100;  // 7 panels of 16 rows
    EXPECT_NEAR(r.plans[0].weight_reads, (f32 ? 3 : 2) * padded, 0.01) << "each tile reads all of W";
    EXPECT_NEAR(r.plans[1].weight_reads, padded, 0.01);
    EXPECT_NEAR(r.plans[2].weight_reads, padded, 0.01);
    EXPECT_EQ(r.plans[1].plan.name, "row block 3");
    EXPECT_EQ(r.plans[2].plan.name, "chosen");
    const double w = f32 ? 100 * 96 * 4 : 100 * 96 / 32 * 18;
    EXPECT_NEAR(r.plans[0].memory_bytes - r.plans[1].memory_bytes, (f32 ? 2 : 1) * padded * w, 1);
    const auto x = static_cast<double>(Activations::bytes(c.compute, 70, 96));
    EXPECT_NEAR(r.plans[2].memory_bytes, padded * w + x + 70 * 100 * 4, 1);
  }
}

TEST(Tiling, SweepTriesRowBlocksInOrder) {
  Case c;
  c.source = std::make_shared<const WeightSource>(WeightSource{"", DType::f32, 100, 96, {}});
  c.M = 70;
  TilingOptions options = small_tiling();
  options.sweep = true;
  std::vector<std::size_t> row_blocks;
  for (const NamedPlan& p : tile_plans(c, options)) row_blocks.push_back(p.tiles.row_block);
  EXPECT_EQ(row_blocks, (std::vector<std::size_t>{0, 1, 2, 3, 4, 0}));
}

/// The scalar f32 kernel, but one of its tiles is off by an ulp.
const Kernel* scalar_f32(const KernelRegistry& registry) {
  KernelRequest request;
  request.key = {Op::matmul, DType::f32, Compute::f32};
  request.provider = "scalar";
  return registry.select(request);
}

const Kernel* right_kernel = nullptr;
std::atomic<int> tiles_until_wrong;

void almost_right(const TileArgs& a) noexcept {
  right_kernel->tiled.tile(a);
  if (a.k1 == a.K && tiles_until_wrong.fetch_sub(1) == 0) {
    a.state[0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a.state[0]) ^ 1u);
  }
}

class OneKernel final : public KernelProvider {
 public:
  explicit OneKernel(const Kernel& kernel) : kernel_(kernel) {}
  std::string_view name() const noexcept override { return "one"; }
  int priority() const noexcept override { return 1000; }
  Availability available(const CpuInfo&) const override { return {true, {}}; }
  std::span<const Kernel> kernels() const noexcept override { return {&kernel_, 1}; }

 private:
  Kernel kernel_;
};

TEST(Tiling, OneOtherBitFails) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  right_kernel = scalar_f32(registry);
  ASSERT_NE(right_kernel, nullptr);
  Kernel kernel = *right_kernel;
  kernel.name = "matmul.f32.f32.one";
  kernel.tiled.tile = almost_right;
  const OneKernel provider(kernel);
  ASSERT_TRUE(registry.add(provider).ok());
  TilingOptions options = small_tiling();
  options.run.weights = {DType::f32};
  options.run.providers = {"one"};
  const auto list = make_cases(options.run, registry, nullptr);
  ASSERT_TRUE(list.ok());
  TilingRunner runner(options, registry);
  tiles_until_wrong = 2;
  const TilingResult r = runner.run(list->cases.at(0));
  EXPECT_TRUE(r.failed);
  EXPECT_NE(r.why_not.find("gives other bits"), std::string::npos) << r.why_not;
  tiles_until_wrong = 2;
  EXPECT_EQ(tiling_command(options, registry), kExitFailed);
  tiles_until_wrong = -1;
  EXPECT_EQ(tiling_command(options, registry), 0);
}

TEST(Tiling, WritesItsKeys) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  TilingOptions options = small_tiling();
  options.run.json = testing::TempDir() + "nibblas_bench_tiling_test.json";
  ASSERT_EQ(tiling_command(options, registry), 0);
  std::ifstream file(options.run.json);
  const nlohmann::json j = nlohmann::json::parse(file);
  std::filesystem::remove(options.run.json);
  ASSERT_EQ(j["tiling"].size(), 2u);
  ASSERT_EQ(j["tiling"][0]["plans"].size(), 3u);
  const nlohmann::json& plan = j["tiling"][0]["plans"][0];
  for (const char* key : {"plan", "ms_median", "of_chosen", "weight_reads", "memory_bytes", "same_bits"}) {
    EXPECT_TRUE(plan.contains(key)) << key;
  }
  EXPECT_EQ(j["tiling"][0]["plans"][2]["of_chosen"], 1.0);
}

TEST(Tiling, AWholeKernelHasNoPlan) {
  Kernel kernel;
  kernel.key = {Op::matmul, DType::f32, Compute::f32};
  kernel.name = "matmul.f32.f32.one";
  kernel.whole.run = [](const MatmulArgs&, void*) { return Status{}; };
  Case c;
  c.source = std::make_shared<const WeightSource>(WeightSource{"", DType::f32, 100, 96, {}});
  c.kernel = &kernel;
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  const TilingOptions options = small_tiling();
  const TilingResult r = TilingRunner(options, registry).run(c);
  EXPECT_FALSE(r.failed);
  EXPECT_NE(r.why_not.find("is not tiled"), std::string::npos) << r.why_not;
}

}  // namespace
}  // namespace nibblas::bench
