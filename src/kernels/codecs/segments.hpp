// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibblas/panel.hpp"

// How file blocks become panel blocks, as data. For every format but the ternary ones a panel block is a list of
// transpositions: `count` units of `unit` bytes from each row, unit i of the 16 rows side by side.

namespace nibblas {
namespace {

struct PanelSegment {
  std::uint16_t file_offset;  ///< in the file's block
  std::uint16_t count;
  std::uint16_t unit;  ///< bytes
};

struct SegmentList {
  PanelSegment segment[5];
  int count;
};

constexpr SegmentList panel_segments(DType t) noexcept {
  switch (t) {
    case DType::f32:
      return {{{0, 1, 4}}, 1};
    case DType::f16:
    case DType::bf16:
      return {{{0, 1, 2}}, 1};
    case DType::q8_0:
      return {{{2, 8, 4}, {0, 1, 2}}, 2};
    case DType::q4_0:
      return {{{2, 4, 4}, {0, 1, 2}}, 2};
    case DType::q4_k:
      return {{{16, 32, 4}, {4, 12, 1}, {0, 1, 2}, {2, 1, 2}}, 4};
    case DType::q5_k:
      return {{{48, 32, 4}, {16, 8, 4}, {4, 12, 1}, {0, 1, 2}, {2, 1, 2}}, 5};
    case DType::q6_k:
      return {{{0, 32, 4}, {128, 16, 4}, {192, 16, 1}, {208, 1, 2}}, 4};
    default:
      return {{}, 0};
  }
}

/// Bytes that one row has in the first `n` segments.
constexpr std::size_t segment_bytes(const SegmentList& list, std::size_t n) noexcept {
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < n; ++s) bytes += std::size_t{list.segment[s].count} * list.segment[s].unit;
  return bytes;
}

/// Where in the panel's block a segment of the file's block goes.
template <DType T>
constexpr std::size_t segment_start(std::size_t segment) noexcept {
  return segment_bytes(panel_segments(T), segment) * kPanelRows;
}
static_assert(segment_start<DType::q4_k>(4) == panel_layout(DType::q4_k).block_bytes);
static_assert(segment_start<DType::q5_k>(5) == panel_layout(DType::q5_k).block_bytes);
static_assert(segment_start<DType::q6_k>(4) == panel_layout(DType::q6_k).block_bytes);
static_assert(segment_start<DType::q4_0>(2) == panel_layout(DType::q4_0).block_bytes);
static_assert(segment_start<DType::q8_0>(2) == panel_layout(DType::q8_0).block_bytes);

/// The first segments are codes, in 32-bit words; scales follow.
constexpr std::size_t code_segments(DType t) noexcept {
  const SegmentList list = panel_segments(t);
  std::size_t n = 0;
  while (n < static_cast<std::size_t>(list.count) && list.segment[n].unit == 4) ++n;
  return n;
}

/// Bytes of a panel's block before its scales. Ternary codes, which are no segments, have two bits.
constexpr std::size_t codes_bytes(DType t) noexcept {
  const SegmentList list = panel_segments(t);
  if (list.count == 0) return panel_layout(t).block_elems / 4 * kPanelRows;
  return segment_bytes(list, code_segments(t)) * kPanelRows;
}

}  // namespace
}  // namespace nibblas
