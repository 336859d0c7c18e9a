// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "parity/product.hpp"
#include "support/guarded_buffer.hpp"

// Every buffer of a product between two guard pages, W, X and the packed image read-only, Y and the workspace full of
// poison: a read or write outside, or a read of what nobody wrote, is a crash or a wrong result.

namespace nibblas::test {
namespace {

constexpr std::size_t kMax = 20;

class GuardPages : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override { context_.registry = &registry(); }

  /// Bytes that keep the end of a 64-byte aligned buffer from touching the guard.
  static std::size_t align_gap(std::size_t bytes, std::size_t alignment) {
    return (alignment - bytes % alignment) % alignment;
  }

  struct Layout {
    Flush flush = Flush::end;
    std::size_t x_gap = 0;  ///< floats between rows
    std::size_t y_gap = 0;
    TileOverride tiles = {};
  };

  /// W lies in guarded memory already.
  template <class W>
  void check(const W& w, const Reference& ref, std::size_t M, std::size_t N, const Layout& layout) {
    const Candidate& c = GetParam();
    const std::size_t K = ref.w.K();
    const std::size_t x_stride = K + layout.x_gap;
    const std::size_t y_stride = N + layout.y_gap;
    GuardedBuffer x(((M - 1) * x_stride + K) * sizeof(float), layout.flush);
    poison(x.data(), x.size() / sizeof(float));
    for (std::size_t m = 0; m < M; ++m) {
      std::memcpy(x.as<float>() + m * x_stride, ref.x.row(m).data, K * sizeof(float));
    }
    x.make_read_only();
    GuardedBuffer y(((M - 1) * y_stride + N) * sizeof(float), layout.flush);
    poison(y.data(), y.size() / sizeof(float));

    MatmulOptions options = options_for(c);
    options.tiles = layout.tiles;
    const Result<std::size_t> scratch = workspace_size(w, M, context_, options);
    ASSERT_TRUE(scratch) << scratch.status().message();
    ASSERT_EQ(*scratch % 64, 0u);
    GuardedBuffer workspace(*scratch, layout.flush);
    poison(workspace.data(), *scratch / sizeof(float));
    context_.workspace = Workspace(workspace.bytes());

    const MatrixView out{y.as<float>(), M, N, y_stride};
    const Status s = matmul(w, {x.as<float>(), M, K, x_stride}, out, context_, options);
    ASSERT_TRUE(s) << s.message();
    ASSERT_TRUE(matches(ref.y.part(0, M, 0, N), out));
    for (std::size_t m = 0; m + 1 < M; ++m) {
      ASSERT_TRUE(is_poison(y.as<float>() + m * y_stride + N, layout.y_gap)) << "written after row " << m;
    }
    ASSERT_TRUE(y.surroundings_intact());
    ++ran_;
  }

  void check_zero_copy(const Reference& ref, std::size_t M, std::size_t N, const Layout& layout, std::size_t gap = 0) {
    const Weights w = ref.w.rows(0, N);
    GuardedBuffer memory(w.bytes(), layout.flush, gap);
    memory.make_read_only();
    check(w.view_at(memory.data()), ref, M, N, layout);
  }

  void check_packed(const Reference& ref, std::size_t M, std::size_t N, const Layout& layout) {
    Context plain;
    plain.registry = &registry();
    const Result<PackedWeights> packed = PackedWeights::pack(ref.w.rows(0, N).view(), plain, options_for(GetParam()));
    ASSERT_TRUE(packed) << packed.status().message();
    const std::size_t gap = layout.flush == Flush::end ? align_gap(packed->bytes().size(), 64) : 0;
    GuardedBuffer memory(packed->bytes(), layout.flush, gap);
    memory.make_read_only();
    const Result<PackedWeights> image = PackedWeights::from_bytes(memory.bytes());
    ASSERT_TRUE(image) << image.status().message();
    check(*image, ref, M, N, layout);
  }

  const Reference& reference_of(std::size_t blocks) const {
    const DType t = GetParam().kernel->key.weights;
    return reference(GetParam().key(), blocks * one_block(t), WeightFill::blocks);
  }

  Context context_;
  std::size_t ran_ = 0;
};

TEST_P(GuardPages, CubeAtOneBlock) {
  const Reference& ref = reference_of(1);
  for (std::size_t M = 1; M <= kMax; ++M) {
    if (!GetParam().runs(M)) continue;
    for (std::size_t N = 1; N <= kMax; ++N) {
      SCOPED_TRACE(testing::Message() << "M " << M << " N " << N);
      const Flush flush = (M + N) % 4 == 0 ? Flush::front : Flush::end;
      const Flush other = (M + N) % 4 == 2 ? Flush::front : Flush::end;
      ASSERT_NO_FATAL_FAILURE(check_packed(ref, M, N, {.flush = flush}));
      ASSERT_NO_FATAL_FAILURE(check_zero_copy(ref, M, N, {.flush = other}));
    }
  }
  EXPECT_GT(ran_, 0u);
}

TEST_P(GuardPages, LengthsAroundEveryGroup) {
  const DType t = GetParam().kernel->key.weights;
  const std::vector<std::size_t> lengths =
      info(t).block_elems == 1 ? std::vector<std::size_t>{1, 2, 3, 4, 5, 31, 33, 63, 65, 1023, 1025}
                               : std::vector<std::size_t>{info(t).block_elems, 3 * info(t).block_elems, 4096};
  for (const std::size_t K : lengths) {
    const Reference& ref = reference(GetParam().key(), K, WeightFill::blocks);
    for (const std::size_t M : {1u, 3u, 17u}) {
      for (const std::size_t N : {1u, 17u, 49u}) {
        if (!GetParam().runs(M)) continue;
        for (const Flush flush : {Flush::end, Flush::front}) {
          SCOPED_TRACE(testing::Message() << "M " << M << " N " << N << " K " << K);
          ASSERT_NO_FATAL_FAILURE(check_packed(ref, M, N, {.flush = flush, .x_gap = 3, .y_gap = 5}));
          ASSERT_NO_FATAL_FAILURE(check_zero_copy(ref, M, N, {.flush = flush, .x_gap = 1000, .y_gap = 1000}));
        }
      }
    }
  }
  EXPECT_GT(ran_, 0u);
}

TEST_P(GuardPages, WeightsAtEveryAddress) {
  const Reference& ref = reference_of(2);
  for (std::size_t gap = 0; gap < 64; ++gap) {
    for (const std::size_t M : {1u, 3u}) {
      if (!GetParam().runs(M)) continue;
      SCOPED_TRACE(testing::Message() << "gap " << gap << " M " << M);
      ASSERT_NO_FATAL_FAILURE(check_zero_copy(ref, M, 17, {.flush = Flush::front}, gap));
      ASSERT_NO_FATAL_FAILURE(check_zero_copy(ref, M, 17, {.flush = Flush::end}, gap));
    }
  }
  EXPECT_GT(ran_, 0u);
}

TEST_P(GuardPages, ForcedPlansAndThreads) {
  const Reference& ref = reference_of(5);
  ThreadPool pool(3);
  context_.executor = &pool;
  for (const TileOverride& tiles : {TileOverride{1, 1, 1}, TileOverride{2, 1, 3}, TileOverride{64, 1000000, 100}}) {
    for (const std::size_t M : {1u, 20u, 49u}) {
      if (!GetParam().runs(M)) continue;
      SCOPED_TRACE(testing::Message() << "row block " << tiles.row_block << " M " << M);
      ASSERT_NO_FATAL_FAILURE(check_packed(ref, M, 50, {.tiles = tiles}));
      ASSERT_NO_FATAL_FAILURE(check_zero_copy(ref, M, 50, {.tiles = tiles}));
    }
  }
  EXPECT_GT(ran_, 0u);
}

TEST_P(GuardPages, TooSmallAWorkspaceIsAStatus) {
  const Reference& ref = reference_of(1);
  const std::size_t M = GetParam().runs(3) ? 3 : 1;
  const MatmulOptions options = options_for(GetParam());
  const std::size_t needed = *workspace_size(ref.w.view(), M, context_, options);
  GuardedBuffer workspace(needed - 64);
  context_.workspace = Workspace(workspace.bytes());
  Matrix y(M, kReferenceN);
  const Status s = matmul(ref.w.view(), ref.x.part(0, M, 0, ref.w.K()), y.view(), context_, options);
  EXPECT_EQ(s.code(), StatusCode::buffer_too_small) << s.message();
  EXPECT_TRUE(is_poison(y.view().data, M * kReferenceN));
}

INSTANTIATE_TEST_SUITE_P(Kernels, GuardPages, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
