// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "arithmetic.hpp"
#include "nibblas/cpu.hpp"
#include "nibblas/kernel.hpp"
#include "nibblas/matmul.hpp"

// Which rows and tokens are computed together, in what order, by how many threads. Pure arithmetic.

namespace nibblas {

struct TileInput {
  std::size_t M = 0;
  std::size_t N = 0;
  std::size_t K = 0;
  DType weights = DType::f32;
  Compute compute = Compute::f32;
  bool zero_copy = false;
  std::size_t k_step = 1;
  std::size_t state_floats = 1;
  std::size_t streams = 1;
  std::size_t threads = 1;
  CacheInfo caches;
  TileOverride force;
};

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  constexpr std::size_t size() const noexcept { return end - begin; }
};

/// The work is row_chunks x m_splits chunks, taken from a counter. A chunk is a row block (panels) times a run of token
/// tiles. tile_group tiles at a time walk K together in k_chunk steps: each step's weights serve all of them.
struct TilePlan {
  std::size_t threads = 1;  ///< workers, <= chunks
  std::size_t panels = 0;
  std::size_t tiles = 0;      ///< token tiles
  std::size_t row_block = 1;  ///< panels a chunk
  std::size_t row_chunks = 0;
  std::size_t m_splits = 1;
  std::size_t k_chunk = 1;     ///< elements
  std::size_t tile_group = 1;  ///< tiles that share each K range
  std::size_t group = 1;       ///< panels handed to the kernel at once
  std::size_t streams = 1;     ///< > 1: a group is that many distant panels of the row block
  bool pack_once = false;      ///< zero-copy: the whole row block is packed before its tiles; else range by range

  constexpr std::size_t chunks() const noexcept { return row_chunks * m_splits; }
  Range chunk_panels(std::size_t chunk) const noexcept;
  Range chunk_tiles(std::size_t chunk) const noexcept;
  /// How many groups chunk_panels(chunk) is cut into, and panel i of group g (i < group_size).
  std::size_t groups(Range panels_of_chunk) const noexcept;
  std::size_t group_size(Range panels_of_chunk, std::size_t g) const noexcept;
  std::size_t group_panel(Range panels_of_chunk, std::size_t g, std::size_t i) const noexcept;
};

/// Total for M, N, K >= 1, any cache sizes and any threads >= 1.
TilePlan plan(const TileInput& in) noexcept;

/// Scratch of one worker, in bytes, each part a multiple of 64 or SIZE_MAX.
struct WorkerScratch {
  std::size_t state = 0;
  std::size_t packed = 0;
  constexpr std::size_t total() const noexcept { return saturating_add(state, packed); }
};
WorkerScratch worker_scratch(const TileInput& in, const TilePlan& plan) noexcept;

}  // namespace nibblas
