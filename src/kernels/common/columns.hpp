// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/codecs/codec.hpp"
#include "nibblas/kernel.hpp"

namespace nibblas {
namespace {

/// f(0), f(1), ... with each index a compile-time constant, all inlined into the caller.
template <std::size_t N, class F>
[[gnu::always_inline]] inline void for_each_index(F f) noexcept {
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

/// x[t] of T tokens, in all lanes, or as the Isa's products take it.
template <class Isa, std::size_t T, std::size_t t>
[[gnu::always_inline]] inline typename Isa::F broadcast_token(const float* x) noexcept {
  if constexpr (requires { Isa::template broadcast_token<T, t>(x); }) {
    return Isa::template broadcast_token<T, t>(x);
  } else {
    return Isa::broadcast(x[t]);
  }
}

/// Isa::lanes rows of a panel in the current K range: what one register accumulates.
struct ColumnRef {
  const std::byte* blocks;
  std::size_t column;  ///< which rows of the panel
  float* state;        ///< of token 0, at this column's first row
};

/// The column's codes in the block at `offset`.
template <class Isa, DType T>
[[gnu::always_inline]] inline PanelBlock<Isa, T> block_of(const ColumnRef& col, std::size_t offset) noexcept {
  return {col.blocks + offset + col.column * Isa::lanes * 4};
}
/// The panel's scales there.
template <DType T>
[[gnu::always_inline]] inline const std::byte* block_scales(const ColumnRef& col, std::size_t offset) noexcept {
  return col.blocks + offset + codes_bytes(T);
}

/// The scales of a block's panels, unpacked once for all sub-blocks and the columns of a panel.
template <class Isa, class Codec, std::size_t C>
struct UnpackedScales {
  typename Codec::Unpacked panel[C];
  const typename Codec::Unpacked* of[C];

  [[gnu::always_inline]] void unpack(const ColumnRef (&col)[C], std::size_t offset) noexcept {
    for (std::size_t c = 0; c < C; ++c) {
      if (c != 0 && col[c].column != 0) {
        of[c] = of[c - 1];
      } else {
        panel[c].template unpack<Isa>(block_scales<Codec::dtype>(col[c], offset));
        of[c] = &panel[c];
      }
    }
  }
};

/// Columns first .. first + C of the tile's panels.
template <class Isa, std::size_t C>
void fill_columns(const TileArgs& a, std::size_t first, std::size_t state_floats, ColumnRef (&col)[C]) noexcept {
  constexpr std::size_t per_panel = kPanelRows / Isa::lanes;
  for (std::size_t c = 0; c < C; ++c) {
    const std::size_t panel = (first + c) / per_panel;
    const std::size_t column = (first + c) % per_panel;
    col[c] = {a.panels[panel], column, a.state + panel * a.tokens * state_floats * kPanelRows + column * Isa::lanes};
  }
}

// Weights come from memory faster than few tokens use them, so every kernel asks for what lies ahead. Where it is in L2
// already, that costs a fiftieth of the work. Formats in blocks of 32: 2.2 KB ahead (M = 1, q8_0 with 4.3 KB: 4 %
// slower on AVX-512, a tenth on AVX2; 1 KB 20 %, 9 KB up to 10 % slower). Formats in super-blocks, 4.6 to 6.9 KB ahead,
// take their scales from the end of the block: with one block instead of two, M = 4 was 15 to 25 % slower.
constexpr std::size_t prefetch_elems(const PanelLayout& layout) noexcept {
  return layout.block_elems == 256 ? 512 : 2304 / layout.block_bytes * layout.block_elems;
}
inline constexpr std::size_t kPrefetchAhead = 2048;  // bytes, of float panels

/// f(run, sub) for each 32 elements of a block. What a codec does depends on `sub`, which is known when it compiles,
/// and so is `run`, unless the runs are Looped: then the same instructions go over the same distance again and again,
/// which the hardware's prefetchers follow, and a block's worth of them they do not (from memory, one token: q4_k 46
/// against 36 GB/s, q5_k 43 against 31, q6_k 45 against 36). With several tokens that is up to a fifth slower.
template <class Codec, bool Looped = false, class F>
[[gnu::always_inline]] inline void for_each_sub(F f) noexcept {
  constexpr std::size_t runs = panel_layout(Codec::dtype).block_elems / Codec::run_elems;
  const auto subs = [&](auto run) __attribute__((always_inline)) {
    for_each_index<Codec::run_elems / kActBlock>([&](auto sub) __attribute__((always_inline)) { f(run, sub); });
  };
  if constexpr (Looped) {
#pragma GCC unroll 1
    for (std::size_t run = 0; run < runs; ++run) subs(run);
  } else {
    for_each_index<runs>(subs);
  }
}

/// What was loaded before is loaded again if it is needed. Compilers load and shift the words of a run once for all its
/// sub-blocks and keep them on the stack, where the registers do not hold them.
[[gnu::always_inline]] inline void forget_loads() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Element of the block at which (run, sub) starts, in units of 32.
template <class Codec>
[[gnu::always_inline]] inline std::size_t sub_index(std::size_t run, std::size_t sub) noexcept {
  return run * (Codec::run_elems / kActBlock) + sub;
}

/// Asks for the lines of the block ahead that stand where this sub-block's share of the block is: spread evenly, they
/// do not fill the queue of outstanding misses.
template <class Isa, class Codec, std::size_t Sub, std::size_t AheadElems = prefetch_elems(panel_layout(Codec::dtype)),
          std::size_t C>
[[gnu::always_inline]] inline void prefetch_part(const ColumnRef (&col)[C], std::size_t offset, auto run) noexcept {
  constexpr PanelLayout layout = panel_layout(Codec::dtype);
  constexpr std::size_t bytes = layout.block_bytes * Codec::run_elems / layout.block_elems;
  constexpr std::size_t subs = Codec::run_elems / kActBlock;
  constexpr std::size_t ahead = layout.block_bytes * AheadElems / layout.block_elems;
  for (std::size_t c = 0; c < C; ++c) {
    if (col[c].column != 0) continue;  // once for each panel
    for (std::size_t i = Sub * bytes / subs / 64; i < ((Sub + 1) * bytes / subs + 63) / 64; ++i) {
      Isa::prefetch(col[c].blocks + offset + ahead + run * bytes + i * 64);
    }
  }
}

/// An Isa whose CPUs follow few tokens' loops over small blocks by themselves: the same loads again and again, of four
/// panels side by side.
template <class Isa>
concept FollowsSmallBlocks = Isa::follows_small_blocks;

/// prefetch_part() of loops with Looped runs.
template <class Isa, class Codec, std::size_t Sub, std::size_t AheadElems = prefetch_elems(panel_layout(Codec::dtype)),
          std::size_t C>
[[gnu::always_inline]] inline void prefetch_run(const ColumnRef (&col)[C], std::size_t offset, auto run) noexcept {
  if constexpr (!FollowsSmallBlocks<Isa> || panel_layout(Codec::dtype).block_elems != kActBlock) {
    prefetch_part<Isa, Codec, Sub, AheadElems>(col, offset, run);
  }
}

}  // namespace
}  // namespace nibblas
