// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "nibblas/kernel.hpp"

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

/// Rows of a panel that exist.
inline std::size_t panel_valid_rows(const PackArgs& a) noexcept {
  const std::size_t left = a.w->N - a.row0;
  return left < kPanelRows ? left : kPanelRows;
}

/// First byte of row r; not for bitnet_b158.
template <DType T>
inline const std::byte* row_data(const PackArgs& a, std::size_t r) noexcept {
  const std::size_t dense = a.w->K / info(T).block_elems * info(T).block_bytes;
  return a.w->data + (a.row0 + r) * (a.w->row_stride != 0 ? a.w->row_stride : dense);
}

/// The definition of the panel for formats with segments: plain loops, used by the scalar provider and for what SIMD
/// packers leave over.
template <DType T>
void pack_segments(const PackArgs& a) noexcept {
  constexpr SegmentList list = panel_segments(T);
  constexpr DTypeInfo format = info(T);
  const std::size_t b0 = a.k0 / format.block_elems;
  const std::size_t b1 = a.k1 / format.block_elems;
  const std::size_t rows = panel_valid_rows(a);
  if (rows < kPanelRows) std::memset(a.out, 0, panel_layout(T).range_bytes(a.k0, a.k1));
  for (std::size_t r = 0; r < rows; ++r) {
    const std::byte* block = row_data<T>(a, r) + b0 * format.block_bytes;
    std::byte* out = a.out;
    for (std::size_t b = b0; b < b1; ++b, block += format.block_bytes) {
      for (int s = 0; s < list.count; ++s) {
        const PanelSegment seg = list.segment[s];
        for (std::size_t i = 0; i < seg.count; ++i) {
          std::memcpy(out + (i * kPanelRows + r) * seg.unit, block + seg.file_offset + i * seg.unit, seg.unit);
        }
        out += std::size_t{seg.count} * seg.unit * kPanelRows;
      }
    }
  }
}

}  // namespace
}  // namespace nibblas
