// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "parity/product.hpp"
#include "support/guarded_buffer.hpp"

// The functions of a kernel one by one, with exactly the memory that kernel.hpp gives them and guard pages around it;
// the driver's buffers lie side by side and would hide a step from one into the next.

namespace nibblas::test {
namespace {

class GuardedKernel : public testing::TestWithParam<Candidate> {
 protected:
  const Kernel& kernel() const { return *GetParam().kernel; }
  const PanelLayout& layout() const { return panel_layout(kernel().key.weights); }

  /// 64-byte aligned, at the end as close to the guard as that allows.
  static GuardedBuffer memory(std::size_t bytes, Flush flush) {
    return GuardedBuffer(bytes, flush, flush == Flush::end ? (64 - bytes % 64) % 64 : 0);
  }

  /// One panel and one tile through prepare, pack and tile, K in steps; the finished sums must be the reference.
  void check(const Reference& ref, std::size_t N, std::size_t tokens, std::size_t k_chunk, Flush flush) {
    const std::size_t K = ref.w.K();
    const Weights weights = ref.w.rows(0, N);
    GuardedBuffer file(weights.bytes(), flush);
    file.make_read_only();
    const WeightView w = weights.view_at(file.data());
    GuardedBuffer rows(tokens * K * sizeof(float), flush);
    for (std::size_t t = 0; t < tokens; ++t)
      std::memcpy(rows.as<float>() + t * K, ref.x.row(t).data, K * sizeof(float));
    rows.make_read_only();

    GuardedBuffer x = memory(activation_tile_bytes(kernel().key.compute, tokens, K), flush);
    kernel().tiled.prepare({rows.as<float>(), K, tokens, K, x.data()});
    ASSERT_TRUE(x.surroundings_intact());
    x.make_read_only();

    const std::size_t panels = panel_count(N);
    const std::size_t slot = kernel().tiled.state_floats * kPanelRows;
    GuardedBuffer state = memory(panels * tokens * slot * sizeof(float), flush);
    poison(state.data(), state.size() / sizeof(float));
    for (std::size_t k0 = 0; k0 < K; k0 += k_chunk) {
      const std::size_t k1 = std::min(k0 + k_chunk, K);
      std::vector<std::unique_ptr<GuardedBuffer>> packed;
      std::vector<const std::byte*> pointers;
      for (std::size_t p = 0; p < panels; ++p) {
        const std::size_t bytes = layout().range_bytes(k0, k1) + (k1 == K ? layout().tail_bytes : 0);
        packed.push_back(
            std::make_unique<GuardedBuffer>(bytes, flush, flush == Flush::end ? (64 - bytes % 64) % 64 : 0));
        kernel().tiled.pack({&w, p * kPanelRows, k0, k1, packed.back()->data()});
        ASSERT_TRUE(packed.back()->surroundings_intact());
        packed.back()->make_read_only();
        pointers.push_back(packed.back()->data());
      }
      kernel().tiled.tile({pointers.data(), panels, x.data(), tokens, K, k0, k1, state.as<float>()});
      ASSERT_TRUE(state.surroundings_intact());
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t n = 0; n < N; ++n) {
        const float got = state.as<float>()[(n / kPanelRows * tokens + t) * slot + n % kPanelRows];
        ASSERT_TRUE(same_bits(got, ref.y.at(t, n))) << "token " << t << " row " << n;
      }
    }
  }
};

TEST_P(GuardedKernel, EveryTileSizeInEveryStep) {
  const DType t = kernel().key.weights;
  const std::size_t step = kernel().tiled.k_step;
  const std::size_t K = info(t).block_elems == 1 ? 1100 : 3 * std::max<std::size_t>(info(t).block_elems, step);
  const Reference& ref = reference(GetParam().key(), K, WeightFill::blocks);
  const std::size_t full = tile_tokens(kernel().key.compute);
  std::set<std::size_t> sizes = {full - 1, full};
  for (std::size_t tokens = 1; tokens <= std::min<std::size_t>(full, 25); ++tokens) sizes.insert(tokens);
  for (const std::size_t tokens : sizes) {
    for (const std::size_t N : {1u, 16u, 33u}) {
      const std::size_t chunk = (tokens + N) % 2 == 0 ? step : 2 * step;
      const std::string trace = "tokens " + std::to_string(tokens) + " N " + std::to_string(N);
      ASSERT_NO_FATAL_FAILURE(check(ref, N, tokens, K, Flush::end)) << trace;
      ASSERT_NO_FATAL_FAILURE(check(ref, N, tokens, chunk, Flush::front)) << trace;
    }
  }
  ASSERT_NO_FATAL_FAILURE(check(ref, 50, 3, step, Flush::end));
}

class GuardedTail : public GuardedKernel {};

TEST_P(GuardedTail, ShortLengths) {
  for (std::size_t K = 1; K <= 70; ++K) {
    const Reference& ref = reference(GetParam().key(), K, WeightFill::blocks);
    for (const std::size_t tokens : {1u, 2u, 5u, 16u}) {
      for (const std::size_t N : {1u, 16u, 17u}) {
        ASSERT_NO_FATAL_FAILURE(check(ref, N, tokens, kernel().tiled.k_step, Flush::end)) << "K " << K;
        ASSERT_NO_FATAL_FAILURE(check(ref, N, tokens, 1 << 20, Flush::front)) << "K " << K;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, GuardedKernel, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });
INSTANTIATE_TEST_SUITE_P(Kernels, GuardedTail, testing::ValuesIn(kernels_for_any_k()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
