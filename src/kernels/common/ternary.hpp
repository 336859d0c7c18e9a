// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/codecs/ternary.hpp"
#include "kernels/common/walk.hpp"
#include "nibblas/kernel.hpp"

// What the ternary tiles of all computes share.

namespace nibblas {
namespace {

/// 32 elements of 16 rows, whatever the format.
inline constexpr std::size_t kTernaryBlockBytes = 128;

// For a single token: four panels stream side by side (two reached four fifths of the bandwidth of four), and memory is
// asked for 1.5 KB ahead: 1 and 2 KB were 2 to 5 % slower, 0.5 and 4 KB 10 to 25 %.
inline constexpr std::size_t kTernaryStreams = 4;
inline constexpr std::size_t kTernaryAhead = 1536;

/// Block<C, T>::run for the tile's tokens, at most MaxT at a time, in parts as equal as can be.
template <template <std::size_t, std::size_t> class Block, std::size_t C, std::size_t MaxT, class Tile>
void for_token_parts(const Tile& tile, std::size_t tokens, const ColumnRef (&col)[C]) noexcept {
  using Run = void (*)(const Tile&, const ColumnRef(&)[C], std::size_t) noexcept;
  struct Table {
    Run run[MaxT];
  };
  static constexpr auto table = []<std::size_t... T>(std::index_sequence<T...>) {
    return Table{{&Block<C, T + 1>::run...}};
  }
  (std::make_index_sequence<MaxT>{});
  const std::size_t parts = (tokens + MaxT - 1) / MaxT;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t t0 = i * tokens / parts;
    const std::size_t t1 = (i + 1) * tokens / parts;
    table.run[t1 - t0 - 1](tile, col, t0);
  }
}

/// Finished sums times the scales of their rows. `done` is the length of the panels' K range.
template <class Isa>
void scale_rows(const TileArgs& a, std::size_t state_floats) noexcept {
  const std::size_t done = panel_layout(DType::bitnet_b158).range_bytes(a.k0, a.K);
  for (std::size_t p = 0; p < a.n_panels; ++p) {
    for (std::size_t r = 0; r < kPanelRows; r += Isa::lanes) {
      const auto scale = Isa::load(reinterpret_cast<const float*>(a.panels[p] + done) + r);
      for (std::size_t t = 0; t < a.tokens; ++t) {
        float* y = a.state + (p * a.tokens + t) * state_floats * kPanelRows + r;
        Isa::store(y, Isa::mul(Isa::load(y), scale));
      }
    }
  }
}

}  // namespace
}  // namespace nibblas
