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

constexpr std::size_t segment_bytes(const SegmentList& list) noexcept {
  std::size_t n = 0;
  for (int s = 0; s < list.count; ++s) n += std::size_t{list.segment[s].count} * list.segment[s].unit;
  return n;
}
static_assert(segment_bytes(panel_segments(DType::q4_k)) * kPanelRows == panel_layout(DType::q4_k).block_bytes);
static_assert(segment_bytes(panel_segments(DType::q5_k)) * kPanelRows == panel_layout(DType::q5_k).block_bytes);
static_assert(segment_bytes(panel_segments(DType::q6_k)) * kPanelRows == panel_layout(DType::q6_k).block_bytes);
static_assert(segment_bytes(panel_segments(DType::q4_0)) * kPanelRows == panel_layout(DType::q4_0).block_bytes);
static_assert(segment_bytes(panel_segments(DType::q8_0)) * kPanelRows == panel_layout(DType::q8_0).block_bytes);

/// Where in the panel's block a segment of the file's block goes.
template <DType T>
constexpr std::size_t segment_start(std::size_t segment) {
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < segment; ++s) {
    const PanelSegment seg = panel_segments(T).segment[s];
    bytes += std::size_t{seg.count} * seg.unit * kPanelRows;
  }
  return bytes;
}

/// Bytes of a panel's block before its scales. Segments of 32-bit words are codes; ternary codes have two bits.
constexpr std::size_t codes_bytes(DType t) noexcept {
  const SegmentList list = panel_segments(t);
  if (list.count == 0) return panel_layout(t).block_elems / 4 * kPanelRows;
  std::size_t bytes = 0;
  for (int s = 0; s < list.count && list.segment[s].unit == 4; ++s) {
    bytes += std::size_t{list.segment[s].count} * 4 * kPanelRows;
  }
  return bytes;
}

}  // namespace
}  // namespace nibblas
