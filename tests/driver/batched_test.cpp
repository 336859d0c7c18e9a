// SPDX-License-Identifier: Apache-2.0
// Stacks of products with one possible answer: heads side by side or interleaved, shared W or X, threads, errors.
#include "nibblas/batched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver/exact_problem.hpp"
#include "support/bits.hpp"

namespace nibblas::test {
namespace {

/// `count` exact problems of one shape, laid out as a stack.
struct Heads {
  Heads(ExactCase c, std::size_t count, std::size_t M, std::size_t N, std::size_t K, bool interleaved)
      : interleaved_(interleaved), y(count * M * N + 1) {
    for (std::size_t i = 0; i < count; ++i) problems.emplace_back(c.dtype, M, N, K, 100 * i + M);
    poison(y.data(), y.size());
    const std::size_t w_bytes = problems[0].w.size();
    w_gap = 3 * (c.dtype != DType::f32);
    w.assign(count * (w_bytes + w_gap), std::byte{0xff});
    x.resize(count * M * K);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy(problems[i].w.begin(), problems[i].w.end(),
                w.begin() + static_cast<std::ptrdiff_t>(i * (w_bytes + w_gap)));
      for (std::size_t m = 0; m < M; ++m) {
        const std::size_t to = interleaved ? m * count * K + i * K : (i * M + m) * K;
        std::copy_n(problems[i].x.begin() + static_cast<std::ptrdiff_t>(m * K), K,
                    x.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
    stack.count = count;
    stack.W = {c.dtype, N, K, w.data(), w_bytes, 0};
    stack.w_stride = w_bytes + w_gap;
    stack.X = {x.data(), M, K, interleaved ? count * K : K};
    stack.x_stride = interleaved ? K : M * K;
    stack.Y = {y.data(), M, N, interleaved ? count * N : N};
    stack.y_stride = interleaved ? N : M * N;
  }
  /// Empty, or where Y differs from what int64 arithmetic gives.
  std::string difference() const {
    const std::size_t count = problems.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ExactProblem& p = problems[i];
      for (std::size_t m = 0; m < p.M; ++m) {
        for (std::size_t n = 0; n < p.N; ++n) {
          const float got = y[interleaved_ ? (m * count + i) * p.N + n : (i * p.M + m) * p.N + n];
          if (got == p.want[m * p.N + n]) continue;
          return "head " + std::to_string(i) + " (" + std::to_string(m) + ", " + std::to_string(n) + ")";
        }
      }
    }
    return is_poison(&y.back(), 1) ? "" : "written past the end";
  }

  bool interleaved_;
  std::size_t w_gap;
  std::vector<ExactProblem> problems;
  std::vector<std::byte> w;
  std::vector<float> x;
  std::vector<float> y;
  MatmulStack stack;
};

class Batched : public testing::Test {
 protected:
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
};

TEST_F(Batched, EveryFormatHeadsAndThreads) {
  for (const std::size_t threads : {1u, 3u, 8u}) {
    ThreadPool pool(threads);
    context.executor = &pool;
    for (const ExactCase& c : kExactCases) {
      for (const std::size_t count : {1u, 2u, 7u, 32u}) {
        for (const std::size_t M : {1u, 5u, 26u}) {
          Heads h(c, count, M, 16 + 3 * count % 20, c.block * 2, count % 2 != 0);
          const Status s = matmul_batched(h.stack, context, {.compute = c.compute});
          ASSERT_TRUE(s) << s.message();
          ASSERT_EQ(h.difference(), "") << to_string(c.dtype) << " " << to_string(c.compute) << " heads " << count
                                        << " M " << M << " threads " << threads;
        }
      }
    }
    context.executor = nullptr;
  }
}

TEST_F(Batched, PackedWeightsGiveTheSame) {
  for (const ExactCase& c : kExactCases) {
    Heads h(c, 5, 18, 40, c.block * 2, true);
    std::vector<PackedWeights> packed;
    for (const ExactProblem& p : h.problems) {
      Result<PackedWeights> one = PackedWeights::pack(p.view(), context, {.compute = c.compute});
      ASSERT_TRUE(one) << one.status().message();
      packed.push_back(std::move(*one));
    }
    const Status s = matmul_batched(packed, h.stack, context, {.compute = c.compute});
    ASSERT_TRUE(s) << s.message();
    EXPECT_EQ(h.difference(), "") << to_string(c.dtype);
  }
}

TEST_F(Batched, SharedXAndSharedW) {
  const ExactCase c{DType::q8_0, Compute::int8, 32};
  Heads h(c, 4, 3, 20, 64, false);
  for (ExactProblem& p : h.problems) {
    const ExactProblem same(c.dtype, 3, 20, 64, 7);
    p = same;
  }
  h.stack.W.data = h.problems[0].w.data();
  h.stack.X = h.problems[0].rows();
  h.stack.w_stride = 0;
  h.stack.x_stride = 0;
  const Status s = matmul_batched(h.stack, context);
  ASSERT_TRUE(s) << s.message();
  EXPECT_EQ(h.difference(), "");
}

TEST_F(Batched, WorkspaceSizeSuffices) {
  ThreadPool pool(3);
  context.executor = &pool;
  Heads h(kExactCases[4], 6, 20, 48, 96, false);
  const Result<std::size_t> bytes = workspace_size(h.stack, context);
  ASSERT_TRUE(bytes) << bytes.status().message();
  Buffer memory(*bytes);
  context.workspace = Workspace({memory.data(), memory.size()});
  EXPECT_TRUE(matmul_batched(h.stack, context));
  EXPECT_EQ(h.difference(), "");
  context.workspace = Workspace({memory.data(), memory.size() - 64});
  EXPECT_EQ(matmul_batched(h.stack, context).code(), StatusCode::buffer_too_small);
}

TEST_F(Batched, ErrorsLeaveYAlone) {
  Heads h(kExactCases[0], 3, 4, 16, 8, false);
  const auto refused = [&](const MatmulStack& stack) {
    const Status s = matmul_batched(stack, context);
    EXPECT_TRUE(is_poison(h.y.data(), h.y.size()));
    return s.code();
  };
  MatmulStack bad = h.stack;
  bad.y_stride = 4 * 16 - 1;
  EXPECT_EQ(refused(bad), StatusCode::invalid_argument);
  bad.y_stride = 0;
  EXPECT_EQ(refused(bad), StatusCode::invalid_argument);
  bad = h.stack;
  bad.Y.stride = 2 * 16;  // room for two interleaved heads, not three
  bad.y_stride = 16;
  EXPECT_EQ(refused(bad), StatusCode::invalid_argument);
  bad.count = 2;  // the first and the third of three
  bad.Y = {h.y.data(), 4, 16, 3 * 16};
  bad.y_stride = 2 * 16;
  EXPECT_EQ(matmul_batched(bad, context).code(), StatusCode::ok);
  poison(h.y.data(), h.y.size());
  bad = h.stack;
  bad.x_stride = SIZE_MAX / 2;
  EXPECT_EQ(refused(bad), StatusCode::invalid_argument);
  bad = h.stack;
  bad.W.bytes -= 1;
  EXPECT_EQ(refused(bad), StatusCode::buffer_too_small);
  bad = h.stack;
  bad.X.cols = 7;
  EXPECT_EQ(refused(bad), StatusCode::shape_mismatch);
  bad = h.stack;
  bad.count = 0;
  EXPECT_EQ(refused(bad), StatusCode::ok);
}

}  // namespace
}  // namespace nibblas::test
