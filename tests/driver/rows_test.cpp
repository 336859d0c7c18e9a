// SPDX-License-Identifier: Apache-2.0
// A kernel that takes rows of a file gets them when there is one token, and else packs as others do.
#include <gtest/gtest.h>

#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/matmul.hpp"
#include "nibblas/packed.hpp"
#include "nibblas/registry.hpp"

namespace nibblas::test {
namespace {

struct Call {
  std::size_t row0, k0, k1;
};
TiledKernel g_real;
std::vector<Call> g_rows;
std::vector<Call> g_packs;

void pack(const PackArgs& a) noexcept {
  g_packs.push_back({a.row0, a.k0, a.k1});
  g_real.pack(a);
}

/// What the kernel's own pack and tile make of it.
void rows(const RowsArgs& a) noexcept {
  const std::size_t K = a.w->K;
  g_rows.push_back({a.row0, 0, K});
  std::vector<std::byte> panel(panel_layout(a.w->dtype).range_bytes(0, K) + 64);
  std::byte* out = panel.data() + (64 - reinterpret_cast<std::uintptr_t>(panel.data()) % 64);
  g_real.pack({a.w, a.row0, 0, K, out});
  const std::byte* panels[] = {out};
  g_real.tile({panels, 1, a.x, 1, K, 0, K, a.state});
}

class RowsProvider final : public KernelProvider {
 public:
  std::string_view name() const noexcept override { return "rows"; }
  int priority() const noexcept override { return 1000; }
  Availability available(const CpuInfo&) const override { return {true, {}}; }
  std::span<const Kernel> kernels() const noexcept override { return {&kernel_, 1}; }

  RowsProvider() {
    static const KernelRegistry scalar = KernelRegistry::builtin(host_cpu(), {});
    kernel_ = *scalar.select({.key = {Op::matmul, DType::q8_0, Compute::int8}, .provider = "scalar"});
    g_real = kernel_.tiled;
    kernel_.name = "matmul.q8_0.int8.rows";
    kernel_.tiled.pack = pack;
    kernel_.tiled.rows = rows;
    g_rows.clear();
    g_packs.clear();
  }

 private:
  Kernel kernel_;
};

class Rows : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(registry.add(provider)); }

  void multiply(std::size_t M, std::size_t N, std::size_t K, const TileOverride& tiles = {}) {
    const ExactProblem p(DType::q8_0, M, N, K);
    Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
    Output y(M, N);
    const Status s = matmul(p.view(), p.rows(), y.view(), context, {.tiles = tiles});
    ASSERT_TRUE(s) << s.message();
    EXPECT_EQ(y.difference(p.want), "");
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  RowsProvider provider;
};

TEST_F(Rows, OneTokenTakesTheRowsOfWholePanels) {
  multiply(1, 40, 96, {.k_chunk = 32});
  ASSERT_EQ(g_rows.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(g_rows[i].row0, i * 16);
  ASSERT_EQ(g_packs.size(), 3u);  // the last panel has eight rows, in three ranges
  for (const Call& c : g_packs) EXPECT_EQ(c.row0, 32u);
}

TEST_F(Rows, SeveralTokensArePacked) {
  for (const std::size_t M : {2u, 16u, 17u, 40u, 65u}) {
    multiply(M, 32, 64);
    EXPECT_TRUE(g_rows.empty()) << M;
    EXPECT_FALSE(g_packs.empty()) << M;
  }
}

TEST_F(Rows, PackedWeightsHaveNoRows) {
  const ExactProblem p(DType::q8_0, 1, 32, 64);
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
  const auto packed = PackedWeights::pack(p.view(), context);
  ASSERT_TRUE(packed) << packed.status().message();
  Output y(1, 32);
  ASSERT_TRUE(matmul(*packed, p.rows(), y.view(), context));
  EXPECT_EQ(y.difference(p.want), "");
  EXPECT_TRUE(g_rows.empty());
}

}  // namespace
}  // namespace nibblas::test
