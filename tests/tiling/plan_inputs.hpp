// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "support/fill.hpp"
#include "tiling.hpp"

// Random questions to plan(), and what the layouts say without asking the library.

namespace nibblas::test {

inline constexpr std::size_t kAny = SIZE_MAX;

/// Anything: N <= 4096, M in 1..160 or 512 or 1000, K up to 16384, threads up to 256 and absurd, caches from 0 to
/// SIZE_MAX, one in three with forced parts.
TileInput random_input(Random& random);
/// The same with caches of a real machine, at most 64 threads and nothing forced.
TileInput sane_input(Random& random);
std::string describe(const TileInput& in);

/// Bytes of elements [k0, k1) of 16 rows, from the formats' block sizes: ternary panels hold 2-bit codes.
std::size_t sixteen_rows(DType t, std::size_t k0, std::size_t k1);
/// Bytes after the last block: bitnet_b158's 16 scales.
constexpr std::size_t tail_of(DType t) { return t == DType::bitnet_b158 ? 64 : 0; }

constexpr std::size_t panels_of(std::size_t N) { return (N + 15) / 16; }
constexpr std::size_t full_tile(Compute c) { return c == Compute::f32 ? 24 : c == Compute::int8 ? 64 : 16; }
constexpr std::size_t tiles_of(Compute c, std::size_t M) { return (M + full_tile(c) - 1) / full_tile(c); }

}  // namespace nibblas::test
