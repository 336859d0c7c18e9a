// SPDX-License-Identifier: Apache-2.0
#include "runner.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli.hpp"
#include "commands.hpp"
#include "made_result.hpp"
#include "nibblas/formats.hpp"

namespace nibblas::bench {
namespace {

RunOptions small_run() {
  RunOptions o;
  o.shapes = {{64, 20}};
  o.m = {1, 5};
  o.weights = {DType::f32};
  o.computes = {Compute::automatic};
  o.providers = {""};
  o.seconds = 0.001;
  o.hot = true;
  return o;
}

/// A whole product that gets one element wrong, or leaves it as it was.
enum class Flaw { none, last_element, untouched };

template <Flaw flaw>
Status flawed_product(const MatmulArgs& a, void*) {
  std::vector<float> w(a.w.K);
  for (std::size_t n = 0; n < a.w.N; ++n) {
    if (Status s = dequantize(a.w, n, {w.data(), 1, a.w.K}); !s) return s;
    for (std::size_t m = 0; m < a.x.rows; ++m) {
      const bool last = n + 1 == a.w.N && m + 1 == a.x.rows;
      if (last && flaw == Flaw::untouched) continue;
      double sum = last && flaw == Flaw::last_element ? 0.01 : 0;
      for (std::size_t k = 0; k < w.size(); ++k) {
        sum += static_cast<double>(a.x.data[m * a.x.stride + k]) * static_cast<double>(w[k]);
      }
      a.y.data[m * a.y.stride + n] = static_cast<float>(sum);
    }
  }
  return {};
}

template <Flaw flaw>
class FlawedProvider final : public KernelProvider {
 public:
  FlawedProvider() {
    kernel_.key = {Op::matmul, DType::f32, Compute::f32};
    kernel_.name = "matmul.f32.f32.flawed";
    kernel_.whole.run = flawed_product<flaw>;
  }
  std::string_view name() const noexcept override { return "flawed"; }
  int priority() const noexcept override { return 1000; }
  Availability available(const CpuInfo&) const override { return {true, {}}; }
  std::span<const Kernel> kernels() const noexcept override { return {&kernel_, 1}; }

 private:
  Kernel kernel_;
};

template <Flaw flaw>
std::vector<CaseResult> run_flawed() {
  const FlawedProvider<flaw> provider;
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  EXPECT_TRUE(registry.add(provider).ok());
  RunOptions options = small_run();
  options.packed = false;
  const auto list = make_cases(options, registry, nullptr);
  EXPECT_TRUE(list.ok() && list->cases.size() == 2);
  Runner runner(options, registry, {made_limits()});
  std::vector<CaseResult> results;
  for (const Case& c : list->cases) results.push_back(runner.run(c));
  EXPECT_EQ(run_command(options, registry), flaw == Flaw::none ? 0 : kExitFailed);
  return results;
}

TEST(Runner, ARightKernelIsTimed) {
  for (const CaseResult& r : run_flawed<Flaw::none>()) {
    EXPECT_EQ(r.outcome, Outcome::timed) << r.why;
    EXPECT_EQ(r.kernel, "matmul.f32.f32.flawed");
    EXPECT_GT(r.seconds, 0);
    EXPECT_GE(r.repetitions, 3u);
    EXPECT_LT(r.rel_l2, 1e-7);
    EXPECT_GT(r.speed.limit_gops, 0.1) << "measured in turn";
    EXPECT_NE(r.speed.limit_gops, 1);
    EXPECT_EQ(r.speed.limit_gbs, 10) << "hot weights: that of before";
    EXPECT_EQ(r.limit_isa, "base");
  }
}

TEST(Runner, OneWrongElementFailsWithoutSpeed) {
  for (const CaseResult& r : run_flawed<Flaw::last_element>()) {
    EXPECT_EQ(r.outcome, Outcome::failed);
    EXPECT_NE(r.why.find("[19]"), std::string::npos) << r.why;
    EXPECT_EQ(r.speed.gops, 0);
    EXPECT_EQ(r.seconds, 0);
  }
}

TEST(Runner, OneElementLeftOutFails) {
  for (const CaseResult& r : run_flawed<Flaw::untouched>()) EXPECT_EQ(r.outcome, Outcome::failed);
}

TEST(Runner, ColdWeightsAreReadInTurnForTheirLimit) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  RunOptions options = small_run();
  options.hot = false;
  options.shapes = {{512, 512}};
  const auto list = make_cases(options, registry, nullptr);
  ASSERT_TRUE(list.ok());
  Runner runner(options, registry, {made_limits()});
  const CaseResult r = runner.run(list->cases.front());
  ASSERT_EQ(r.outcome, Outcome::timed) << r.why;
  EXPECT_NE(r.speed.limit_gbs, 10);
  EXPECT_GT(r.speed.limit_gbs, 0.1);
}

TEST(Runner, EveryFormatPackedAndNot) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  RunOptions options = small_run();
  options.weights = {};
  options.computes = {};
  options.shapes = {{256, 33}};
  for (const bool packed : {true, false}) {
    options.packed = packed;
    const auto list = make_cases(options, registry, nullptr);
    ASSERT_TRUE(list.ok());
    Runner runner(options, registry, {made_limits()});
    for (const Case& c : list->cases) EXPECT_EQ(runner.run(c).outcome, Outcome::timed) << c.name();
  }
}

TEST(CopyPlan, ColdWeightsAreMoreThanAnyCacheHolds) {
  for (const std::size_t bytes : {1u, 256u, 100'000u, 9'437'184u, 640'000'001u}) {
    const CopyPlan plan = plan_copies(bytes, false);
    EXPECT_EQ(plan.stride % 64, 0u);
    EXPECT_GE(plan.stride, bytes);
    EXPECT_LE(plan.copies, kMaxRepetitions);
    EXPECT_GE(plan.copies, 1u);
    if (plan.needs_flush) {
      EXPECT_EQ(plan.copies, kMaxRepetitions) << "one pass at most";
      EXPECT_LE(plan.copies * plan.stride, kColdBytes);
    } else {
      EXPECT_GE(plan.copies * plan.stride, kColdBytes);
    }
  }
  EXPECT_FALSE(plan_copies(9'437'184, false).needs_flush);
  EXPECT_TRUE(plan_copies(256, false).needs_flush);
}

TEST(CopyPlan, HotIsOneCopy) {
  EXPECT_EQ(plan_copies(1000, true).copies, 1u);
  EXPECT_EQ(plan_copies(1000, true).stride, 1024u);
}

}  // namespace
}  // namespace nibblas::bench
