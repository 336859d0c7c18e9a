// SPDX-License-Identifier: Apache-2.0
// Results do not depend on who runs the tasks, how many there are, in what order, or what else runs.
#include "driver/executors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/matmul.hpp"

namespace nibblas::test {
namespace {

/// Weights and activations that are not integers: here rounding would show.
struct RealProblem {
  RealProblem(DType t, std::size_t m, std::size_t n, std::size_t k)
      : M(m), w(*tensor_bytes(t, n, k)), x(m * k), view{t, n, k, w.data(), w.size(), 0}, rows{x.data(), m, k} {
    EXPECT_TRUE(fill_weights(t, n, k, 1, w));
    fill_gaussian({x.data(), m, k}, 2);
  }
  std::size_t M;
  std::vector<std::byte> w;
  std::vector<float> x;
  WeightView view;
  ConstMatrixView rows;
};

class Executors : public testing::Test {
 protected:
  std::vector<float> product(const RealProblem& p, Executor* executor, const MatmulOptions& options = {}) {
    Context context{.registry = &registry, .executor = executor, .caches = nullptr, .workspace = {}};
    Output y(p.M, p.view.N);
    const Status s = matmul(p.view, p.rows, y.view(), context, options);
    EXPECT_TRUE(s) << s.message();
    std::vector<float> values = y.values();
    const Result<PackedWeights> packed = PackedWeights::pack(p.view, context);
    EXPECT_TRUE(packed) << packed.status().message();
    Output z(p.M, p.view.N);
    EXPECT_TRUE(matmul(*packed, p.rows, z.view(), context, options));
    EXPECT_EQ(z.difference(values), "") << "packed is not zero-copy";
    return values;
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
};

constexpr std::size_t kShapes[][3] = {{1, 1000, 512}, {50, 200, 512}, {33, 17, 2048}, {3, 5, 256}, {200, 16, 256}};

TEST_F(Executors, AnyExecutorGivesTheBitsOfTheSerialOne) {
  using Order = OrderExecutor::Order;
  ThreadPool pool2(2);
  ThreadPool pool8(8);
  std::vector<std::unique_ptr<Executor>> executors;
  for (const std::size_t claimed : {2u, 3u, 64u, 1000u}) {
    for (const Order order : {Order::forward, Order::reverse, Order::shuffled}) {
      executors.push_back(std::make_unique<OrderExecutor>(claimed, order, claimed));
    }
  }
  executors.push_back(std::make_unique<OrderExecutor>(SIZE_MAX, Order::reverse));
  executors.push_back(std::make_unique<OrderExecutor>(0, Order::forward));  // a wrong answer that means one
  executors.push_back(std::make_unique<ThreadsExecutor>(3));
  for (const DType t : {DType::f32, DType::q4_0, DType::q6_k, DType::bitnet_b158}) {
    for (const auto& [M, N, K] : kShapes) {
      const RealProblem p(t, M, N, K);
      const std::vector<float> want = product(p, nullptr);
      for (const auto& executor : executors) EXPECT_TRUE(same_bits(product(p, executor.get()), want));
      EXPECT_TRUE(same_bits(product(p, &pool2), want));
      EXPECT_TRUE(same_bits(product(p, &pool8), want));
      ASSERT_FALSE(HasFailure()) << to_string(t) << " " << M << " x " << N << " x " << K;
    }
  }
}

TEST_F(Executors, MoreThreadsThanPanelsAreNotAsked) {
  OrderExecutor executor(64, OrderExecutor::Order::forward);
  Context context{.registry = &registry, .executor = &executor, .caches = nullptr, .workspace = {}};
  const RealProblem p(DType::f32, 1, 40, 8192);
  const std::size_t bytes = workspace_size(p.view, 1, context).value();
  Context serial{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
  const std::size_t x_bytes = Activations::bytes(Compute::f32, 1, 8192);
  const std::size_t one = workspace_size(p.view, 1, serial).value();
  EXPECT_LE(bytes - x_bytes, 3 * (one - x_bytes) + 3 * 64) << "three panels are three workers' work";
  Output y(1, 40);
  ASSERT_TRUE(matmul(p.view, p.rows, y.view(), context));
}

TEST_F(Executors, EachRowOfYIsTheProductOfThatRowAlone) {
  for (const DType t : {DType::f32, DType::f16, DType::q8_0, DType::q4_k, DType::tq2_0, DType::bitnet_b158}) {
    const RealProblem p(t, 64, 100, 512);
    for (std::size_t c = 0; c < kComputeCount; ++c) {
      const MatmulOptions options{.compute = static_cast<Compute>(c)};
      if (!is_legal(t, options.compute)) continue;
      Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
      std::vector<float> rows;
      for (std::size_t m = 0; m < p.M; ++m) {
        std::vector<float> y(100);
        ASSERT_TRUE(gemv(p.view, {p.x.data() + m * 512, 512}, y, context, options));
        rows.insert(rows.end(), y.begin(), y.end());
      }
      EXPECT_TRUE(same_bits(product(p, nullptr, options), rows)) << to_string(t) << " " << to_string(options.compute);
    }
  }
}

/// Application threads, each with its own context, over the same registry and executor.
void many_callers(KernelRegistry& registry, Executor* executor, int calls) {
  std::vector<RealProblem> problems;
  std::vector<std::vector<float>> want;
  for (const DType t : {DType::q4_0, DType::f32}) {
    for (const auto& [M, N, K] : kShapes) {
      const RealProblem& p = problems.emplace_back(t, M, N, K);
      Output y(M, N);
      Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
      ASSERT_TRUE(matmul(p.view, p.rows, y.view(), context));
      want.push_back(y.values());
    }
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      Context context{.registry = &registry, .executor = executor, .caches = nullptr, .workspace = {}};
      for (int call = 0; call < calls; ++call) {
        const std::size_t i = (caller + static_cast<std::size_t>(call)) % problems.size();
        Output y(problems[i].M, problems[i].view.N);
        const Status s = matmul(problems[i].view, problems[i].rows, y.view(), context);
        if (!s || !y.difference(want[i]).empty()) ++wrong;
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Executors, ManyCallersOnOneRegistryAndPool) {
  ThreadPool pool(3);
  many_callers(registry, &pool, 40);
}

TEST_F(Executors, ManyCallersEachSerial) { many_callers(registry, nullptr, 40); }

TEST_F(Executors, AProviderMayComeAndGoDuringProducts) {
  class Empty final : public KernelProvider {
   public:
    std::string_view name() const noexcept override { return "empty"; }
    int priority() const noexcept override { return 900; }
    Availability available(const CpuInfo&) const override { return {true, {}}; }
    std::span<const Kernel> kernels() const noexcept override { return {}; }
  } provider;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < 200 && !stop; ++i) {
      EXPECT_TRUE(registry.add(provider));
      EXPECT_TRUE(registry.remove("empty"));
    }
  });
  many_callers(registry, nullptr, 20);
  stop = true;
  writer.join();
}

TEST_F(Executors, EveryCallOfManyIsTheSameWhateverTheScratchHeld) {
  ThreadPool pool(2);
  const RealProblem p(DType::q4_k, 33, 100, 1024);
  const std::vector<float> want = product(p, nullptr);
  Context sized{.registry = &registry, .executor = &pool, .caches = nullptr, .workspace = {}};
  Buffer scratch(workspace_size(p.view, p.M, sized).value());
  Context context{.registry = &registry,
                  .executor = &pool,
                  .caches = nullptr,
                  .workspace = Workspace({scratch.data(), scratch.size()})};
  for (int i = 0; i < 200; ++i) {
    std::memset(scratch.data(), i % 2 != 0 ? 0xff : i, scratch.size());
    Output y(p.M, 100);
    ASSERT_TRUE(matmul(p.view, p.rows, y.view(), context));
    ASSERT_EQ(y.difference(want), "") << "call " << i;
  }
}

}  // namespace
}  // namespace nibblas::test
