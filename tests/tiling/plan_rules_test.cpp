// SPDX-License-Identifier: Apache-2.0
// What a plan is for: weights are read from memory once, every thread has work, a tile finds its data in cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "tiling/plan_inputs.hpp"

namespace nibblas::test {
namespace {

constexpr int kQuestions = 5000;
constexpr std::size_t kChunksPerThread = 4;

template <class Check>
void for_sane_plans(std::uint64_t seed, Check check) {
  Random random(seed);
  for (int i = 0; i < kQuestions && !testing::Test::HasFailure(); ++i) {
    const TileInput in = sane_input(random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", question " << i << ": " << describe(in));
    check(in, plan(in));
  }
}

bool is_big(const TileInput& in) { return in.M * in.N * in.K >= std::size_t{1} << 20; }

TEST(PlanRules, MIsNotSplitWhereRowsFeedEveryThread) {
  int reached = 0;
  for_sane_plans(11, [&](const TileInput& in, const TilePlan& p) {
    if (panels_of(in.N) < kChunksPerThread * in.threads) return;
    EXPECT_EQ(p.m_splits, 1u);
    if (in.threads > 1 && is_big(in)) {
      EXPECT_GE(p.row_chunks, kChunksPerThread * in.threads);
    }
    reached += in.threads > 1 && p.tiles > 1;
  });
  EXPECT_GT(reached, 100);
}

TEST(PlanRules, FewRowsAndManyTokensAreSplitToo) {
  int reached = 0;
  for_sane_plans(12, [&](const TileInput& in, const TilePlan& p) {
    if (!is_big(in) || in.threads == 1) return;
    EXPECT_GE(p.chunks(), std::min(kChunksPerThread * in.threads, p.panels * p.tiles));
    EXPECT_EQ(p.threads, std::min(in.threads, p.chunks()));
    reached += p.m_splits > 1;
  });
  EXPECT_GT(reached, 100);
}

TEST(PlanRules, TinyWorkStaysWithTheCaller) {
  TileInput in;
  in.threads = 8;
  in.k_step = 64;
  in.M = 1;
  in.N = 64;
  in.K = 64;
  EXPECT_EQ(plan(in).threads, 1u);
  in.N = 4096;
  in.K = 1024;
  EXPECT_EQ(plan(in).threads, 8u);
}

/// Packed panels of which fewer than 8 fill half of L2: then L2 holds a K range of a row block, not all of it.
bool holds_ranges(const TileInput& in, const TilePlan& p) {
  const std::size_t panel = sixteen_rows(in.weights, 0, in.K) + tail_of(in.weights);
  return !in.zero_copy && p.tiles > 1 && in.caches.l2 / 2 / panel < 8;
}

TEST(PlanRules, ARangeOfLongPanelsAndItsSumsFitL2) {
  int reached = 0;
  for_sane_plans(16, [&](const TileInput& in, const TilePlan& p) {
    if (!holds_ranges(in, p)) {
      EXPECT_EQ(p.tile_group, 1u);
      return;
    }
    EXPECT_LE(p.row_block, 8u);
    const std::size_t tokens = std::min(in.M, full_tile(in.compute));
    const std::size_t sums = p.tile_group * p.row_block * 16 * tokens * in.state_floats * sizeof(float);
    if (p.tile_group > 1) {
      EXPECT_LE(sums, in.caches.l2 / 2);
    }
    if (p.k_chunk > in.k_step) {
      EXPECT_LE(p.row_block * sixteen_rows(in.weights, 0, p.k_chunk), in.caches.l2 / 4);
      EXPECT_LE(p.k_chunk / 32 * tokens * (in.compute == Compute::f32 ? 32 * sizeof(float) : 32 + 16),
                in.caches.l2 / 4);
    }
    reached += p.tile_group > 1 && p.k_chunk < in.K;
  });
  EXPECT_GT(reached, 100);
}

TEST(PlanRules, ARowBlockFitsHalfOfL2) {
  int reached = 0;
  for_sane_plans(13, [&](const TileInput& in, const TilePlan& p) {
    if (p.tiles == 1 || p.row_block <= 2 || holds_ranges(in, p)) return;
    EXPECT_LE(p.row_block * (sixteen_rows(in.weights, 0, in.K) + tail_of(in.weights)), in.caches.l2 / 2);
    ++reached;
  });
  EXPECT_GT(reached, 100);
}

TEST(PlanRules, ATileFitsL1OrIsOneStep) {
  int reached = 0;
  for_sane_plans(14, [&](const TileInput& in, const TilePlan& p) {
    if (p.k_chunk == in.k_step || holds_ranges(in, p)) return;
    const std::size_t tokens = (in.M + p.tiles - 1) / p.tiles;
    const std::size_t per_32 = in.compute == Compute::f32 ? 32 * sizeof(float) : 32 + 16;
    EXPECT_LE(p.k_chunk / 32 * per_32 * tokens, in.caches.l1d * 3 / 4 + per_32 * tokens);
    reached += p.k_chunk < in.K;
  });
  EXPECT_GT(reached, 100);
}

/// Bytes of packed W that one thread fetches from beyond a cache of `capacity` bytes with least-recently-used panels.
std::size_t fetched(const TileInput& in, const TilePlan& p, std::size_t capacity) {
  const std::size_t panel_bytes = sixteen_rows(in.weights, 0, in.K);
  std::list<std::size_t> cached;
  std::size_t bytes = 0;
  for (std::size_t c = 0; c < p.chunks(); ++c) {
    const Range panels = p.chunk_panels(c);
    const Range tiles = p.chunk_tiles(c);
    for (std::size_t g = 0; g < p.groups(panels); ++g) {
      for (std::size_t t = tiles.begin; t < tiles.end; t += p.tile_group) {
        for (std::size_t i = 0; i < p.group_size(panels, g); ++i) {
          const std::size_t panel = p.group_panel(panels, g, i);
          const auto it = std::ranges::find(cached, panel);
          if (it == cached.end()) {
            bytes += panel_bytes;
          } else {
            cached.erase(it);
          }
          cached.push_front(panel);
          while (cached.size() > 1 && cached.size() * panel_bytes > capacity) cached.pop_back();
        }
      }
    }
  }
  return bytes;
}

TEST(PlanRules, WeightsComeFromMemoryOnceAtAnyM) {
  Random random(15);
  for (const std::size_t M : {1u, 2u, 16u, 17u, 24u, 25u, 64u, 512u, 1000u}) {
    for (int i = 0; i < 100; ++i) {
      TileInput in = sane_input(random);
      in.M = M;
      in.threads = 1 + random.below(std::max<std::size_t>(panels_of(in.N) / kChunksPerThread, 1));
      if (2 * sixteen_rows(in.weights, 0, in.K) > in.caches.l2) continue;
      SCOPED_TRACE(describe(in));
      const TilePlan p = plan(in);
      const std::size_t w = panels_of(in.N) * sixteen_rows(in.weights, 0, in.K);
      if (holds_ranges(in, p)) {
        // Once past L2 for each group of tiles; a row block of at most 16 panels comes from L3 again.
        EXPECT_LE(fetched(in, p, in.caches.l2), w * ((p.tiles + p.tile_group - 1) / p.tile_group));
      } else {
        EXPECT_EQ(fetched(in, p, in.caches.l2), w);
      }
    }
  }
}

TEST(PlanRules, TheTrafficModelSeesAPlanThatReadsTwice) {
  TileInput in;
  in.M = 48;
  in.N = 4096;
  in.K = 1024;
  in.k_step = 64;
  TilePlan p = plan(in);
  ASSERT_EQ(p.tiles, 2u);
  p.m_splits = 2;  // all rows for the first tile, then all rows again
  EXPECT_EQ(fetched(in, p, 1 << 20), 2 * 4096 * 1024 * sizeof(float));
}

}  // namespace
}  // namespace nibblas::test
