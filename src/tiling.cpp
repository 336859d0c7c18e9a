// SPDX-License-Identifier: Apache-2.0
#include "tiling.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace nibblas {
namespace {

constexpr std::size_t kChunksPerThread = 4;
// Below this many multiply-adds waking a second thread costs more than it saves (a fork and join is about a
// microsecond, 2^17 multiply-adds are about as long on one core).
constexpr double kSerialWork = 1 << 17;
// Zero-copy ranges: about this much of the panels is packed at a time and stays in L1.
constexpr std::size_t kPackBytes = 8 << 10;

/// A detected size if it is one, else a common one.
constexpr std::size_t sane(std::size_t bytes, std::size_t least, std::size_t most, std::size_t usual) noexcept {
  return bytes == 0 ? usual : std::clamp(bytes, least, most);
}

std::size_t activation_bytes_per_k(Compute c, std::size_t tokens) noexcept {
  return c == Compute::f32 ? tokens * sizeof(float) : ceil_div(tokens * (kActBlock + sizeof(Int8Token)), kActBlock);
}

std::size_t sane_l2(const TileInput& in) noexcept { return sane(in.caches.l2, 64 << 10, 64 << 20, 1 << 20); }

// Fewer whole panels in L2 than this, and the panels count as long.
constexpr std::size_t kNarrowBlock = 8;
// The row block of long panels: each meets X anew, so not fewer than the first; the second keeps their sums in L2.
constexpr std::size_t kLeastLongBlock = 4;
constexpr std::size_t kMostLongBlock = 8;

/// As many whole panels as fill half of L2.
std::size_t panels_in_cache(const TileInput& in) noexcept {
  const std::size_t fit = sane_l2(in) / 2 / std::max<std::size_t>(panel_layout(in.weights).panel_bytes(in.K), 1);
  return std::clamp<std::size_t>(fit, 2, kMaxTilePanels);
}

std::size_t tokens_of(const TileInput& in) noexcept { return std::min(in.M, tile_tokens(in.compute)); }

/// The largest K range, by halving, that keeps k * per_k bytes within the budget; one step if nothing does.
std::size_t k_within(const TileInput& in, std::size_t per_k, std::size_t budget) noexcept {
  std::size_t k = round_up(in.K, in.k_step);
  while (k > in.k_step && saturating_mul(k, per_k) > budget) k = round_up(k / 2, in.k_step);
  return k;
}

/// K range whose activations (and, where several tiles reuse them, the weights of two panels) fit three quarters of L1.
std::size_t k_in_l1(const TileInput& in, std::size_t tiles_per_chunk) noexcept {
  const PanelLayout& layout = panel_layout(in.weights);
  std::size_t per_k = activation_bytes_per_k(in.compute, tokens_of(in));
  if (tiles_per_chunk > 1) per_k += ceil_div(2 * layout.block_bytes, layout.block_elems);
  return k_within(in, per_k, sane(in.caches.l1d, 8 << 10, 1 << 20, 32 << 10) / 4 * 3);
}

/// AMD's L1 data cache predicts the way of a line by a hash of its linear address, the xor of the bits in these pairs,
/// and keeps one line of a set for each hash. Streams that lie so that their lines agree in both push each other out of
/// L1 before they are used: tq2_0 at 4096 x 4096, four streams 0x108000 bytes apart, took 1.5 times as long.
constexpr bool share_ways(std::size_t distance) noexcept {
  constexpr std::size_t kSetBytes = 4096;  // sets x 64 bytes of a 32 or 48 KiB cache
  constexpr unsigned kPairs[][2] = {{12, 27}, {13, 26}, {14, 25}, {15, 20}, {16, 21}, {17, 22}, {18, 23}, {19, 24}};
  if (distance % kSetBytes != 0) return false;
  return std::ranges::all_of(kPairs, [&](const auto& p) { return ((distance >> p[0] ^ distance >> p[1]) & 1) == 0; });
}

/// A share of the panels cut down until no two of its streams, which start a row block / streams apart, share ways.
std::size_t without_shared_ways(const TileInput& in, std::size_t row_block) noexcept {
  const std::size_t panel_bytes = panel_layout(in.weights).panel_bytes(in.K);
  const auto clash = [&](std::size_t apart) {
    for (std::size_t i = 1; i < in.streams; ++i) {
      if (share_ways(saturating_mul(i * apart, panel_bytes))) return true;
    }
    return false;
  };
  const std::size_t whole = ceil_div(row_block, in.streams);
  if (in.zero_copy || !clash(whole)) return row_block;
  for (std::size_t apart = whole - 1; apart > 0; --apart) {
    if (!clash(apart)) return apart * in.streams;
  }
  return row_block;
}

std::size_t tile_state(const TileInput& in, std::size_t panels) noexcept {
  return panels * tokens_of(in) * in.state_floats * kPanelRows * sizeof(float);
}

/// Panels so long that few fit L2 are not kept whole. The sums of a narrow row block for many tiles take half of L2 and
/// stay there while K goes by, a K range of its weights takes a quarter, one of a tile's activations at most another as
/// X streams past: W comes from memory once for all those tiles.
std::size_t long_row_block(const TileInput& in, std::size_t tiles) noexcept {
  const std::size_t fit = sane_l2(in) / 2 / saturating_mul(tiles, tile_state(in, 1));
  return std::clamp(fit / 2 * 2, kLeastLongBlock, kMostLongBlock);  // kernels take two at a time
}

void plan_long_panels(const TileInput& in, std::size_t tiles_per_chunk, TilePlan& p) noexcept {
  const PanelLayout& layout = panel_layout(in.weights);
  const std::size_t weights_per_k = ceil_div(p.row_block * layout.block_bytes, layout.block_elems);
  const std::size_t x_per_k = activation_bytes_per_k(in.compute, tokens_of(in));
  p.k_chunk = k_within(in, std::max(weights_per_k, x_per_k), sane_l2(in) / 4);
  p.tile_group = std::clamp<std::size_t>(sane_l2(in) / 2 / tile_state(in, p.row_block), 1, tiles_per_chunk);
}

}  // namespace

Range TilePlan::chunk_panels(std::size_t chunk) const noexcept {
  const std::size_t i = chunk % row_chunks;
  return {i * row_block, std::min((i + 1) * row_block, panels)};
}

Range TilePlan::chunk_tiles(std::size_t chunk) const noexcept {
  const std::size_t i = chunk / row_chunks;
  return {i * tiles / m_splits, (i + 1) * tiles / m_splits};
}

std::size_t TilePlan::groups(Range r) const noexcept { return ceil_div(r.size(), group); }

std::size_t TilePlan::group_size(Range r, std::size_t g) const noexcept {
  if (streams == 1) return std::min(group, r.size() - g * group);
  const std::size_t apart = groups(r);  // panel i of group g is i * apart + g
  return ceil_div(r.size() - g, apart);
}

std::size_t TilePlan::group_panel(Range r, std::size_t g, std::size_t i) const noexcept {
  return r.begin + (streams == 1 ? g * group + i : i * groups(r) + g);
}

TilePlan plan(const TileInput& in) noexcept {
  TilePlan p;
  p.panels = panel_count(in.N);
  p.tiles = ceil_div(in.M, tile_tokens(in.compute));
  const double work = static_cast<double>(in.M) * static_cast<double>(in.N) * static_cast<double>(in.K);
  // More threads than a panel times a tile each have nothing to do; an executor may claim any number.
  p.threads = work < kSerialWork ? 1 : std::clamp<std::size_t>(in.threads, 1, p.panels * p.tiles);

  // One tile reads each weight once anyway: then a chunk is only a share of the work. Several tiles want their row
  // block in L2. Either way every thread should get kChunksPerThread chunks.
  const std::size_t wanted = p.threads == 1 ? 1 : p.threads * kChunksPerThread;
  const std::size_t share = std::max<std::size_t>(p.panels / wanted, 1);
  const std::size_t fit = panels_in_cache(in);
  const bool long_panels = p.tiles > 1 && fit < kNarrowBlock && !in.zero_copy;
  p.row_block =
      p.tiles == 1 ? without_shared_ways(in, share) : std::min(long_panels ? long_row_block(in, p.tiles) : fit, share);
  if (in.force.row_block != 0) p.row_block = in.force.row_block;
  if (p.tiles > 1) p.row_block = std::min(p.row_block, kMaxTilePanels);
  p.row_block = std::clamp<std::size_t>(p.row_block, 1, p.panels);
  p.row_chunks = ceil_div(p.panels, p.row_block);

  // Each extra split of M reads W once more, so only where rows alone do not feed the threads.
  if (p.row_chunks < wanted) p.m_splits = ceil_div(wanted, p.row_chunks);
  if (in.force.m_splits != 0) p.m_splits = in.force.m_splits;
  p.m_splits = std::clamp<std::size_t>(p.m_splits, 1, p.tiles);
  p.threads = std::min(p.threads, p.chunks());

  const std::size_t tiles_per_chunk = ceil_div(p.tiles, p.m_splits);
  p.k_chunk = k_in_l1(in, tiles_per_chunk);
  if (long_panels) plan_long_panels(in, tiles_per_chunk, p);
  p.pack_once = in.zero_copy && tiles_per_chunk > 1;
  p.streams = in.zero_copy || tiles_per_chunk > 1 ? 1 : std::clamp<std::size_t>(in.streams, 1, p.row_block);
  p.group = tiles_per_chunk > 1 ? p.row_block : std::max<std::size_t>(p.streams, 1);
  if (in.zero_copy && !p.pack_once) {
    p.group = 1;  // two panels at a time: 16 rows more to follow, up to a third slower
    const PanelLayout& layout = panel_layout(in.weights);
    const std::size_t k = kPackBytes / layout.block_bytes * layout.block_elems;
    p.k_chunk = std::min(p.k_chunk, std::max(k / in.k_step * in.k_step, in.k_step));
  }
  if (in.force.k_chunk != 0) p.k_chunk = round_up(std::min(in.force.k_chunk, in.K), in.k_step);
  return p;
}

WorkerScratch worker_scratch(const TileInput& in, const TilePlan& p) noexcept {
  WorkerScratch s;
  s.state = p.tile_group * tile_state(in, p.group);
  if (in.zero_copy) {
    const PanelLayout& layout = panel_layout(in.weights);
    const std::size_t k = p.pack_once ? in.K : std::min(p.k_chunk, in.K);
    s.packed = saturating_mul(p.group, round_up(layout.range_bytes(0, k) + layout.tail_bytes, 64));
  }
  return s;
}

}  // namespace nibblas
