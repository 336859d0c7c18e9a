// SPDX-License-Identifier: Apache-2.0
#include "layer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "commands.hpp"

namespace nibblas::bench {
namespace {

LayerOptions small_layer() {
  LayerOptions o;
  o.hidden = 256;
  o.ffn = 512;
  o.heads = 4;
  o.kv_heads = 2;
  o.weights = {DType::f32, DType::q8_0};
  o.m = {1, 20};
  o.threads = {1};
  o.seconds = 0;
  o.hot = true;
  return o;
}

const Kernel& kernel_of(const KernelRegistry& registry, DType t) {
  KernelRequest request;
  request.key = {Op::matmul, t, info(t).default_compute};
  return *registry.select(request);
}

/// Of this machine with that many threads, 1 or 2.
const Limits& limits_of(std::size_t threads) {
  static const std::vector<Limits> measured = measure_limits(host_cpu(), {1, 2}).value();
  return measured[threads - 1];
}

TEST(Layer, MatricesOfAGroupedQueryLayer) {
  const LayerOptions o = small_layer();
  const auto ffn = matrices_of(LayerBlock::swiglu, o);
  ASSERT_EQ(ffn.size(), 3u);
  EXPECT_EQ(ffn[0].N, 512u);
  EXPECT_EQ(ffn[0].K, 256u);
  EXPECT_EQ(ffn[2].N, 256u);
  EXPECT_EQ(ffn[2].K, 512u);
  const auto qkvo = matrices_of(LayerBlock::projections, o);
  ASSERT_EQ(qkvo.size(), 4u);
  EXPECT_EQ(qkvo[0].N, 256u);
  EXPECT_EQ(qkvo[1].N, 128u) << "2 of 4 heads of 64";
  EXPECT_EQ(qkvo[2].N, 128u);
  EXPECT_EQ(qkvo[3].N, 256u);
}

TEST(Layer, TimesAndVerifiesBothBlocks) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  const LayerOptions options = small_layer();
  LayerRunner runner(options, registry);
  for (const LayerBlock block : {LayerBlock::swiglu, LayerBlock::projections}) {
    for (const DType t : {DType::f32, DType::q8_0, DType::tq2_0}) {
      for (const std::size_t threads : {1u, 2u}) {
        for (const std::size_t M : {1u, 20u}) {
          const LayerResult r = runner.run({block, t, M, threads}, kernel_of(registry, t), limits_of(threads));
          ASSERT_EQ(r.why_not, "") << r.spec.name();
          EXPECT_GT(r.seconds, 0);
          EXPECT_GT(r.prepare_share, 0);
          EXPECT_LT(r.prepare_share, 1);
          EXPECT_EQ(r.silu_share > 0, block == LayerBlock::swiglu);
          EXPECT_GT(r.rel_l2, 0);
          const double operations = 2.0 * static_cast<double>(M) * (block == LayerBlock::swiglu ? 3 * 512 : 768) * 256;
          EXPECT_NEAR(r.speed.gops * r.seconds * 1e9, operations, 1e-6 * operations);
          EXPECT_GT(r.speed.limit_gops, 0);
          EXPECT_EQ(r.speed.limit_gbs, limits_of(threads).dram_gbs) << "hot";
        }
      }
    }
  }
}

TEST(Layer, SiluIsGateTimesSigmoidTimesUp) {
  const float gate[] = {0, 1, -1, 20, -200, 3};
  const float up[] = {5, 2, 2, 3, 1, -1};
  float out[6] = {};
  silu_times({gate, 2, 3}, {up, 2, 3}, {out, 2, 3}, serial_executor());
  const double want[] = {0, 2 / (1 + std::exp(-1.0)), -2 / (1 + std::exp(1.0)), 60, 0, -3 / (1 + std::exp(-3.0))};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(static_cast<double>(out[i]), want[i], 1e-6) << i;
}

/// The scalar f32 kernel, but tile number `wrong_tile` gives a wrong element.
const Kernel* right_kernel = nullptr;
std::atomic<int> tiles_until_wrong;

void mostly_right(const TileArgs& a) noexcept {
  right_kernel->tiled.tile(a);
  if (a.k1 == a.K && tiles_until_wrong.fetch_sub(1) == 0) a.state[0] += 0.5f;
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

TEST(Layer, AWrongProductFails) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  KernelRequest request;
  request.key = {Op::matmul, DType::f32, Compute::f32};
  request.provider = "scalar";
  right_kernel = registry.select(request);
  ASSERT_NE(right_kernel, nullptr);
  Kernel kernel = *right_kernel;
  kernel.name = "matmul.f32.f32.one";
  kernel.tiled.tile = mostly_right;
  const OneKernel provider(kernel);
  ASSERT_TRUE(registry.add(provider).ok());
  LayerOptions options = small_layer();
  options.weights = {DType::f32};
  options.m = {1};
  for (const LayerBlock block : {LayerBlock::swiglu, LayerBlock::projections}) {
    LayerRunner runner(options, registry);
    tiles_until_wrong = 0;
    const LayerResult r = runner.run({block, DType::f32, 1, 1}, kernel, limits_of(1));
    EXPECT_NE(r.why_not.find("verification failed: "), std::string::npos) << r.why_not;
    EXPECT_NE(r.why_not.find("[0][0]"), std::string::npos) << r.why_not;
    EXPECT_EQ(r.seconds, 0);
  }
  tiles_until_wrong = 0;
  EXPECT_EQ(layer_command(options, registry), kExitFailed);
}

TEST(Layer, WritesItsKeys) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  LayerOptions options = small_layer();
  options.json = testing::TempDir() + "nibblas_bench_layer_test.json";
  ASSERT_EQ(layer_command(options, registry), 0);
  std::ifstream file(options.json);
  const nlohmann::json j = nlohmann::json::parse(file);
  std::filesystem::remove(options.json);
  EXPECT_EQ(j["hidden"], 256);
  EXPECT_TRUE(j["failed"].empty());
  ASSERT_EQ(j["layer"].size(), 8u);  // 2 blocks, 2 formats, 2 M
  for (const char* key : {"block", "weights", "M", "threads", "kernel", "ms_median", "gops", "weight_gbs",
                          "fraction_of_limit", "prepare_share", "silu_share", "rel_l2_err"}) {
    EXPECT_TRUE(j["layer"][0].contains(key)) << key;
  }
  EXPECT_EQ(j["layer"][0]["block"], "swiglu");
  EXPECT_EQ(j["layer"][7]["block"], "projections");
}

TEST(Layer, AShapeThatTheFormatLacksIsAUsageError) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  LayerOptions options = small_layer();
  options.ffn = 500;
  EXPECT_EQ(layer_command(options, registry), kExitUsage);
}

}  // namespace
}  // namespace nibblas::bench
