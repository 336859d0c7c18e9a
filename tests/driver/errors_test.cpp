// SPDX-License-Identifier: Apache-2.0
// Every error is a status that names the offending value, and leaves Y alone.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/matmul.hpp"

namespace nibblas::test {
namespace {

class Errors : public testing::Test {
 protected:
  void refused(const Status& s, StatusCode code, std::initializer_list<std::string_view> words) {
    EXPECT_EQ(to_string(s.code()), to_string(code)) << s.message();
    for (const std::string_view word : words) {
      EXPECT_NE(s.message().find(word), std::string::npos) << "'" << word << "' is not in: " << s.message();
    }
    EXPECT_TRUE(y.untouched());
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
  ExactProblem p{DType::q4_0, 3, 20, 64};
  WeightView W = p.view();
  Output y{3, 20};
  MatrixView Y = y.view();
};

TEST_F(Errors, ShapesThatDoNotFit) {
  std::vector<float> x(4 * 128);
  refused(matmul(W, {x.data(), 3, 63, 64}, Y, context), StatusCode::shape_mismatch, {"X has 63 columns", "K = 64"});
  refused(matmul(W, {x.data(), 4, 64}, Y, context), StatusCode::shape_mismatch, {"Y has 3 rows", "M = 4"});
  Y.cols = 19;
  refused(matmul(W, p.rows(), Y, context), StatusCode::shape_mismatch, {"Y has 19 columns", "N = 20"});
  refused(gemv(W, {x.data(), 65}, {y.data(), 20}, context), StatusCode::shape_mismatch, {"65", "K = 64"});
  refused(gemv(W, {x.data(), 64}, {y.data(), 21}, context), StatusCode::shape_mismatch,
          {"y has 21 elements", "N = 20"});
}

TEST_F(Errors, NullPointers) {
  refused(matmul(W, {nullptr, 3, 64}, Y, context), StatusCode::invalid_argument, {"X", "null", "3 x 64"});
  refused(matmul(W, p.rows(), {nullptr, 3, 20}, context), StatusCode::invalid_argument, {"Y", "null", "3 x 20"});
  W.data = nullptr;
  refused(matmul(W, p.rows(), Y, context), StatusCode::invalid_argument, {"data is null"});
  refused(PackedWeights::pack(W, context).status(), StatusCode::invalid_argument, {"data is null"});
  refused(workspace_size(W, 3, context).status(), StatusCode::invalid_argument, {"data is null"});
  EXPECT_NE(explain(W, 3, context).find("data is null"), std::string::npos);
  EXPECT_TRUE(explain(W, 3, context).ends_with("\n")) << "like the lines of a choice";
  refused(matmul(PackedWeights{}, p.rows(), Y, context), StatusCode::invalid_argument, {"empty"});
}

TEST_F(Errors, Strides) {
  refused(matmul(W, {p.x.data(), 3, 64, 63}, Y, context), StatusCode::invalid_argument, {"X: stride 63", "64"});
  Y.stride = 19;
  refused(matmul(W, p.rows(), Y, context), StatusCode::invalid_argument, {"Y: stride 19", "20"});
  Y.stride = SIZE_MAX / 2;
  refused(matmul(W, p.rows(), Y, context), StatusCode::invalid_argument, {"Y", "overflow"});
  refused(matmul(W, {p.x.data(), 3, 64, SIZE_MAX}, y.view(), context), StatusCode::invalid_argument, {"X", "overflow"});
  W.row_stride = 35;
  refused(matmul(W, p.rows(), y.view(), context), StatusCode::invalid_argument, {"row_stride = 35", "36"});
  W.row_stride = SIZE_MAX / 4;
  refused(matmul(W, p.rows(), y.view(), context), StatusCode::shape_mismatch,
          {"row_stride = " + std::to_string(SIZE_MAX / 4), "overflows"});
}

TEST_F(Errors, Misalignment) {
  const auto shifted = [](const float* f) {
    const auto* bytes = reinterpret_cast<const std::byte*>(f) + 1;
    return reinterpret_cast<float*>(const_cast<std::byte*>(bytes));
  };
  refused(matmul(W, {shifted(p.x.data()), 2, 64}, {y.data(), 2, 20}, context), StatusCode::invalid_argument,
          {"X: data is not 4-byte aligned"});
  refused(matmul(W, {p.x.data(), 2, 64}, {shifted(y.data()), 2, 20}, context), StatusCode::invalid_argument,
          {"Y: data is not 4-byte aligned"});
}

TEST_F(Errors, WeightsThatAreNotThere) {
  W.bytes -= 1;
  refused(matmul(W, p.rows(), Y, context), StatusCode::buffer_too_small, {"719", "720"});
  W = p.view();
  W.K = 48;
  refused(matmul(W, {p.x.data(), 3, 48}, Y, context), StatusCode::shape_mismatch, {"K = 48", "32"});
  W.K = 64;
  W.N = SIZE_MAX / 2;
  refused(matmul(W, p.rows(), Y, context), StatusCode::shape_mismatch, {"overflows"});
  W = p.view();
  W.dtype = static_cast<DType>(99);
  refused(matmul(W, p.rows(), Y, context), StatusCode::unsupported, {"99"});
  refused(PackedWeights::pack(W, context).status(), StatusCode::unsupported, {"99"});
}

TEST_F(Errors, IllegalCompute) {
  refused(matmul(W, p.rows(), Y, context, {.compute = Compute::int8_token}), StatusCode::unsupported,
          {"q4_0", "int8_token", "legal: f32, int8"});
  refused(matmul(W, p.rows(), Y, context, {.compute = static_cast<Compute>(7)}), StatusCode::unsupported, {"7"});
  EXPECT_NE(explain(W, 3, context, {.compute = static_cast<Compute>(77)}).find("q4_0 77 -> error"), std::string::npos);
  ExactProblem f(DType::f32, 3, 20, 64);
  refused(matmul(f.view(), f.rows(), Y, context, {.compute = Compute::int8}), StatusCode::unsupported, {"f32", "int8"});
  refused(PackedWeights::pack(W, context, {.compute = Compute::int8_token}).status(), StatusCode::unsupported,
          {"int8_token"});
  refused(workspace_size(W, 3, context, {.compute = Compute::int8_token}).status(), StatusCode::unsupported,
          {"int8_token"});
}

TEST_F(Errors, Providers) {
  refused(matmul(W, p.rows(), Y, context, {.provider = "nvidia"}), StatusCode::not_found, {"nvidia", "scalar"});
  KernelRegistry nothing(host_cpu());
  context.registry = &nothing;
  refused(matmul(W, p.rows(), Y, context), StatusCode::unsupported, {"q4_0", "empty"});
  Activations X;
  refused(prepare(p.rows(), Compute::int8, X, context), StatusCode::unsupported, {"int8", "empty"});
  refused(PackedWeights::pack(W, context).status(), StatusCode::unsupported, {"q4_0", "empty"});
  KernelRegistry wrong =
      KernelRegistry::builtin(host_cpu(), {.force_provider = "nvidia", .max_isa = {}, .disable = {}});
  context.registry = &wrong;
  refused(matmul(W, p.rows(), Y, context), StatusCode::invalid_argument, {"NIBBLAS_PROVIDER=nvidia", "scalar"});
}

TEST_F(Errors, PreparedActivations) {
  Activations X;
  refused(matmul(W, X, Y, context), StatusCode::shape_mismatch, {"0 columns", "K = 64"});
  refused(prepare({nullptr, 3, 64}, Compute::int8, X, context), StatusCode::invalid_argument, {"X", "null"});
  refused(prepare({p.x.data(), 3, 64, 63}, Compute::int8, X, context), StatusCode::invalid_argument, {"stride 63"});
  refused(prepare(p.rows(), Compute::automatic, X, context), StatusCode::invalid_argument, {"automatic"});
  refused(prepare(p.rows(), static_cast<Compute>(77), X, context), StatusCode::invalid_argument, {"not 77"});
  ASSERT_TRUE(prepare(p.rows(), Compute::int8_token, X, context));
  refused(matmul(W, X, Y, context), StatusCode::unsupported, {"q4_0", "int8_token"});
  ASSERT_TRUE(prepare(p.rows(), Compute::int8, X, context));
  refused(matmul(W, X, Y, context, {.compute = Compute::f32}), StatusCode::invalid_argument, {"int8", "f32"});
  refused(matmul(W, X, Y, context, {.compute = static_cast<Compute>(77)}), StatusCode::invalid_argument, {"is 77"});
  ASSERT_TRUE(prepare({p.x.data(), 2, 64}, Compute::int8, X, context));
  refused(matmul(W, X, Y, context), StatusCode::shape_mismatch, {"Y has 3 rows", "M = 2"});
}

TEST_F(Errors, LongestSumOfInt8Token) {
  const Kernel* kernel = registry.select({.key = {Op::gemv, DType::bitnet_b158, Compute::int8_token}});
  ASSERT_NE(kernel, nullptr);
  const std::size_t limit = kernel->tiled.k_max;
  // A product of codes is at most 3 * 127; the bound is made for 3 * 128.
  EXPECT_LE(limit, (std::size_t{1} << 31) / (3 * 128));
  EXPECT_GT(limit, (std::size_t{1} << 31) / (3 * 128) - 64);
  const std::size_t K = limit + 1;
  const std::vector<float> x(K, 1.0f);
  const std::vector<std::byte> w(*tensor_bytes(DType::bitnet_b158, 1, K));
  const WeightView view{DType::bitnet_b158, 1, K, w.data(), w.size(), 0};
  const std::string named = "K = " + std::to_string(K);
  refused(gemv(view, x, {y.data(), 1}, context), StatusCode::unsupported, {named, std::to_string(limit)});
  refused(workspace_size(view, 1, context).status(), StatusCode::unsupported, {named});
  EXPECT_NE(explain(view, 1, context).find("refused: "), std::string::npos);
  EXPECT_EQ(explain(W, 1, context).find("refused: "), std::string::npos);
  const Result<PackedWeights> packed = PackedWeights::pack(view, context);
  ASSERT_TRUE(packed) << packed.status().message();
  refused(gemv(*packed, x, {y.data(), 1}, context), StatusCode::unsupported, {named});
}

TEST_F(Errors, SizesThatOverflow) {
  for (const std::size_t M : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 64 + 1, std::size_t{1} << 58}) {
    refused(workspace_size(W, M, context).status(), StatusCode::shape_mismatch, {std::to_string(M)});
  }
  refused(packed_bytes(DType::q4_0, SIZE_MAX / 2, 64).status(), StatusCode::shape_mismatch, {"64"});
  refused(packed_bytes(DType::tq1_0, SIZE_MAX / 60, 256).status(), StatusCode::shape_mismatch, {"overflow"});
  for (const std::size_t K : {std::size_t{1} << 58, (std::size_t{1} << 58) + 1, SIZE_MAX / 64 + 1}) {
    refused(packed_bytes(DType::f32, 1, K).status(), StatusCode::shape_mismatch, {"overflow"});
  }
  refused(packed_bytes(DType::q8_0, 1, 1085102592571150112).status(), StatusCode::shape_mismatch, {"overflow"});
  refused(packed_bytes(DType::q4_0, 16, 33).status(), StatusCode::shape_mismatch, {"33", "32"});
  refused(matmul(W, {p.x.data(), std::size_t{1} << 60, 64}, Y, context), StatusCode::invalid_argument, {"overflow"});
}

TEST_F(Errors, Stats) {
  MatmulStats stats;
  refused(matmul(W, {nullptr, 3, 64}, Y, context, {.stats = &stats}), StatusCode::invalid_argument, {});
  EXPECT_EQ(stats.kernel, nullptr);
  EXPECT_EQ(stats.weight_bytes, 0u);
}

}  // namespace
}  // namespace nibblas::test
