// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/common/columns.hpp"
#include "nibblas/kernel.hpp"

// How a tile function goes over its columns and tokens, whatever it does with them.

namespace nibblas {
namespace {

/// Which of a tile function's passes over its K range.
struct Pass {
  std::size_t index;
  std::size_t count;
};

/// visit(col, pass) for all columns of the tile, C at a time; what remains comes Less at a time and then one by one.
template <class Isa, std::size_t C, std::size_t Less, class Visit>
[[gnu::always_inline]] inline void walk_columns(const TileArgs& a, std::size_t state_floats, Visit visit) noexcept {
  const std::size_t columns = a.n_panels * (kPanelRows / Isa::lanes);
  std::size_t c = 0;
  const auto walk = [&](auto width) __attribute__((always_inline)) {
    constexpr std::size_t n = width();
    for (; c + n <= columns; c += n) {
      ColumnRef col[n];
      fill_columns<Isa, n>(a, c, state_floats, col);
      visit(col, Pass{c / n, (columns + n - 1) / n});
    }
  };
  walk(std::integral_constant<std::size_t, C>{});
  if constexpr (1 < Less && Less < C) walk(std::integral_constant<std::size_t, Less>{});
  if constexpr (1 < C) walk(std::integral_constant<std::size_t, 1>{});
}

/// All columns of the tile. For a single token one(col), for Wide columns at a time, which are distant panels that
/// memory streams side by side; else many(col, pass), for C that share each broadcast of x.
template <class Isa, std::size_t C, std::size_t Wide, class One, class Many>
[[gnu::always_inline]] inline void for_columns(const TileArgs& a, std::size_t state_floats, One one,
                                               Many many) noexcept {
  if (a.tokens == 1) {
    walk_columns<Isa, Wide, C>(
        a, state_floats, [&](const auto& col, Pass) __attribute__((always_inline)) { one(col); });
  } else {
    walk_columns<Isa, C, 1>(a, state_floats, many);
  }
}

/// Number of columns of a visitor's set.
template <class Columns>
constexpr std::size_t kWidth = std::extent_v<std::remove_reference_t<Columns>>;

/// Functions for 1 .. MaxT tokens: what f gives for each number.
template <std::size_t MaxT, class F>
constexpr auto by_tokens(F f) noexcept {
  return [&]<std::size_t... T>(std::index_sequence<T...>) {
    return std::array{f(std::integral_constant<std::size_t, T + 1>{})...};
  }
  (std::make_index_sequence<MaxT>{});
}

/// Tokens of a tile in parts of at most MaxT, as equal as can be.
template <std::size_t MaxT>
struct TokenParts {
  std::size_t tokens;
  std::size_t count = (tokens + MaxT - 1) / MaxT;

  std::size_t begin(std::size_t i) const noexcept { return i * tokens / count; }
  std::size_t size(std::size_t i) const noexcept { return begin(i + 1) - begin(i); }
  /// Part i of a pass over some columns is a pass of its own.
  Pass pass(Pass of_columns, std::size_t i) const noexcept {
    return {of_columns.index * count + i, of_columns.count * count};
  }
};

/// A tile's kernel passes over its K range in steps. Each asks for its share of what the driver wants ahead, so that
/// the requests spread over the whole call: at its start with step(), or a little for each element with spread().
struct AheadShare {
  const std::byte* next = nullptr;
  const std::byte* end = nullptr;
  std::size_t per_step = 0;  ///< bytes

  AheadShare() = default;
  AheadShare(const TileArgs& a, Pass pass, std::size_t step_elems) noexcept {
    const std::size_t share = (a.ahead_bytes / pass.count + 63) / 64 * 64;
    if (a.ahead_bytes == 0 || pass.index * share >= a.ahead_bytes) return;
    const std::size_t steps = (a.k1 - a.k0 + step_elems - 1) / step_elems;
    next = a.ahead + pass.index * share;
    end = a.ahead + std::min(a.ahead_bytes, (pass.index + 1) * share);
    per_step = (share / steps + 63) / 64 * 64;
  }
  template <class Isa>
  [[gnu::always_inline]] void step() noexcept {
    const std::byte* stop = next + std::min(per_step, static_cast<std::size_t>(end - next));
    for (; next < stop; next += 64) Isa::prefetch(next);
  }

  /// Of a step of `elems` elements, each asks for the line at `at` and moves that on by `by`.
  struct Spread {
    const std::byte* at;
    std::size_t by;
  };
  /// `idle` is asked for where nothing is left to be.
  Spread spread(std::size_t elems, const std::byte* idle) noexcept {
    if (next == end) return {idle, 0};
    const std::byte* from = next;
    next += std::min(per_step, static_cast<std::size_t>(end - next));
    return {from, per_step / elems};
  }
};

}  // namespace
}  // namespace nibblas
