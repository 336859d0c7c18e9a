// SPDX-License-Identifier: Apache-2.0
// What must hold for every question, however absurd: the plan covers the product once and stays inside its scratch.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tiling/plan_inputs.hpp"

namespace nibblas::test {
namespace {

constexpr int kQuestions = 20000;

template <class Check>
void for_random_plans(std::uint64_t seed, Check check) {
  Random random(seed);
  for (int i = 0; i < kQuestions && !testing::Test::HasFailure(); ++i) {
    const TileInput in = random_input(random);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", question " << i << ": " << describe(in));
    check(in, plan(in));
  }
}

/// How often each panel of a chunk is in one of its groups.
std::vector<int> visits(const TilePlan& p, Range panels) {
  std::vector<int> count(panels.size(), 0);
  for (std::size_t g = 0; g < p.groups(panels); ++g) {
    for (std::size_t i = 0; i < p.group_size(panels, g); ++i) {
      const std::size_t panel = p.group_panel(panels, g, i);
      if (panel < panels.begin || panel >= panels.end) return {};
      ++count[panel - panels.begin];
    }
  }
  return count;
}

TEST(Plan, ChunksCoverEveryPanelAndTileOnce) {
  for_random_plans(1, [](const TileInput& in, const TilePlan& p) {
    const std::size_t panels = panels_of(in.N);
    const std::size_t tiles = tiles_of(in.compute, in.M);
    ASSERT_EQ(p.panels, panels);
    ASSERT_EQ(p.tiles, tiles);
    std::vector<int> seen(panels * tiles, 0);
    for (std::size_t c = 0; c < p.chunks(); ++c) {
      const Range rows = p.chunk_panels(c);
      const Range tokens = p.chunk_tiles(c);
      ASSERT_LT(rows.begin, rows.end) << "chunk " << c;
      ASSERT_LE(rows.end, panels);
      ASSERT_LT(tokens.begin, tokens.end) << "chunk " << c;
      ASSERT_LE(tokens.end, tiles);
      const std::vector<int> count = visits(p, rows);
      ASSERT_EQ(count.size(), rows.size()) << "a group of chunk " << c << " leaves it";
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t t = tokens.begin; t < tokens.end; ++t) seen[(rows.begin + r) * tiles + t] += count[r];
      }
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](int n) { return n == 1; }));
  });
}

/// Streams whose lines agree in set and way hash of AMD's L1 push each other out: distances at which bits 15 and 20, or
/// 16 and 21, and no others are set.
TEST(Plan, StreamsDoNotShareWaysOfL1) {
  for (const auto& [K, N] : {std::pair<std::size_t, std::size_t>{4096, 4096},
                             {4096, 8192},
                             {2048, 8192},
                             {8192, 2048},
                             {2048, 4096},
                             {8192, 4096}}) {
    TileInput in;
    in.M = 1;
    in.N = N;
    in.K = K;
    in.weights = DType::tq2_0;
    in.compute = Compute::int8;
    in.k_step = 256;
    in.streams = 4;
    const TilePlan p = plan(in);
    ASSERT_EQ(p.streams, 4u);
    const std::size_t distance = p.groups(p.chunk_panels(0)) * panel_layout(in.weights).panel_bytes(K);
    for (std::size_t i = 1; i < 4; ++i) {
      EXPECT_NE(i * distance, 0x108000u) << K << " x " << N;
      EXPECT_NE(i * distance, 0x210000u) << K << " x " << N;
    }
    EXPECT_GE(4 * p.row_block, 3 * p.panels) << "no shorter than it must be";
  }
}

TEST(Plan, GroupsAreWhatAKernelMayBeGiven) {
  for_random_plans(2, [](const TileInput& in, const TilePlan& p) {
    ASSERT_GE(p.group, 1u);
    ASSERT_LE(p.group, kMaxTilePanels);
    for (std::size_t c = 0; c < p.chunks(); ++c) {
      const Range panels = p.chunk_panels(c);
      for (std::size_t g = 0; g < p.groups(panels); ++g) {
        ASSERT_GE(p.group_size(panels, g), 1u);
        ASSERT_LE(p.group_size(panels, g), p.group);
      }
    }
    if (p.streams > 1) {
      EXPECT_EQ(p.group, p.streams);
      EXPECT_LE(p.streams, in.streams);
      EXPECT_FALSE(in.zero_copy);
    }
  });
}

TEST(Plan, RangesOfKStartWhereTheKernelCanResume) {
  for_random_plans(3, [](const TileInput& in, const TilePlan& p) {
    EXPECT_GE(p.k_chunk, in.k_step);
    EXPECT_EQ(p.k_chunk % in.k_step, 0u);
    EXPECT_LT(p.k_chunk, in.K + in.k_step);
  });
}

TEST(Plan, ThreadsHaveSomethingToDo) {
  for_random_plans(4, [](const TileInput& in, const TilePlan& p) {
    EXPECT_GE(p.threads, 1u);
    EXPECT_LE(p.threads, p.chunks());
    EXPECT_LE(p.threads, in.threads);
  });
}

/// The most that one worker keeps at once, walking its chunks as the driver does.
WorkerScratch used(const TileInput& in, const TilePlan& p) {
  const std::size_t most_tokens = (in.M + p.tiles - 1) / p.tiles;
  WorkerScratch most;
  for (std::size_t c = 0; c < p.chunks(); ++c) {
    const Range panels = p.chunk_panels(c);
    for (std::size_t g = 0; g < p.groups(panels); ++g) {
      most.state = std::max(most.state, p.group_size(panels, g) * most_tokens * in.state_floats * 16 * sizeof(float));
    }
  }
  if (!in.zero_copy) return most;
  const std::size_t step = p.pack_once ? in.K : p.k_chunk;
  for (std::size_t k0 = 0; k0 < in.K; k0 += step) {
    const std::size_t k1 = std::min(k0 + step, in.K);
    const std::size_t tail = k1 == in.K ? tail_of(in.weights) : 0;
    most.packed = std::max(most.packed, sixteen_rows(in.weights, k0, k1) + tail);
  }
  return most;
}

TEST(Plan, ScratchHoldsWhatTheDriverKeeps) {
  for_random_plans(5, [](const TileInput& in, const TilePlan& p) {
    const WorkerScratch scratch = worker_scratch(in, p);
    const WorkerScratch least = used(in, p);
    EXPECT_EQ(scratch.state % 64, 0u);
    EXPECT_GE(scratch.state, least.state);
    ASSERT_EQ(scratch.packed % (64 * p.group), 0u) << "each panel's part is 64-byte aligned";
    EXPECT_GE(scratch.packed / p.group, least.packed);
    EXPECT_EQ(scratch.packed == 0, !in.zero_copy);
  });
}

TEST(Plan, TheSameQuestionHasTheSameAnswer) {
  for_random_plans(6, [](const TileInput& in, const TilePlan& p) {
    const TileInput again = in;
    const TilePlan q = plan(again);
    EXPECT_EQ(p.threads, q.threads);
    EXPECT_EQ(p.row_block, q.row_block);
    EXPECT_EQ(p.row_chunks, q.row_chunks);
    EXPECT_EQ(p.m_splits, q.m_splits);
    EXPECT_EQ(p.k_chunk, q.k_chunk);
    EXPECT_EQ(p.group, q.group);
    EXPECT_EQ(p.streams, q.streams);
    EXPECT_EQ(p.pack_once, q.pack_once);
  });
}

TEST(Plan, ForcedPartsAreTaken) {
  for_random_plans(7, [](const TileInput& in, const TilePlan& p) {
    const std::size_t limit = p.tiles > 1 ? std::min(p.panels, kMaxTilePanels) : p.panels;
    if (in.force.row_block != 0) {
      EXPECT_EQ(p.row_block, std::min(in.force.row_block, limit));
    }
    if (in.force.m_splits != 0) {
      EXPECT_EQ(p.m_splits, std::min(in.force.m_splits, p.tiles));
    }
    if (in.force.k_chunk != 0) {
      const std::size_t k = std::min(in.force.k_chunk, in.K);
      EXPECT_EQ(p.k_chunk, (k + in.k_step - 1) / in.k_step * in.k_step);
    }
  });
}

// The generator must reach what the properties are about.
TEST(Plan, TheQuestionsReachEveryKindOfPlan) {
  int streams = 0, pack_once = 0, by_range = 0, split = 0, serial = 0, forced = 0, short_group = 0;
  Random random(1);
  for (int i = 0; i < kQuestions; ++i) {
    const TileInput in = random_input(random);
    const TilePlan p = plan(in);
    streams += p.streams > 1;
    pack_once += p.pack_once;
    by_range += in.zero_copy && !p.pack_once && p.k_chunk < in.K;
    split += p.m_splits > 1;
    serial += p.threads == 1 && in.threads > 1;
    forced += in.force.row_block != 0 && in.force.m_splits != 0;
    short_group += p.chunk_panels(0).size() % p.group != 0;
  }
  for (const int reached : {streams, pack_once, by_range, split, serial, forced, short_group}) {
    EXPECT_GT(reached, kQuestions / 100);
  }
}

}  // namespace
}  // namespace nibblas::test
