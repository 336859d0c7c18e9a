// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/codecs/segments.hpp"
#include "nibblas/kernel.hpp"

// Rows of a file become panels.

namespace nibblas {
namespace {

/// Rows of a panel that exist.
inline std::size_t panel_valid_rows(const PackArgs& a) noexcept {
  const std::size_t left = a.w->N - a.row0;
  return left < kPanelRows ? left : kPanelRows;
}

/// Bytes of a row, and from one row to the next; not for bitnet_b158.
template <DType T>
inline std::size_t row_extent(const WeightView& w) noexcept {
  return w.K / info(T).block_elems * info(T).block_bytes;
}
template <DType T>
inline std::size_t row_stride(const WeightView& w) noexcept {
  return w.stride(row_extent<T>(w));
}

/// First byte of row r of the panel; not for bitnet_b158.
template <DType T>
inline const std::byte* row_data(const PackArgs& a, std::size_t r) noexcept {
  return a.w->data + (a.row0 + r) * row_stride<T>(*a.w);
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
