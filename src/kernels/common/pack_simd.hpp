// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/common/pack.hpp"

// Packing with vectors, the same bytes as pack_segments(). `Transposer` moves 16 rows at a time:
//   words4(src, stride, out)    4 32-bit words of each row -> 4 x 64 bytes, lane = row
//   halves(words, out)          64 bytes of words -> their low, then their high 16-bit halves: 2 x 32 bytes
//   bytes(words, out)           64 bytes of words -> byte 0, 1, 2, 3 of each row: 4 x 16 bytes
// Rows are read in 16-byte pieces that lie wholly inside the row's block.

namespace nibblas {
namespace {

inline void gather_halves(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
  for (std::size_t r = 0; r < kPanelRows; ++r) std::memcpy(out + 2 * r, src + r * stride, 2);
}

/// One block of 16 rows.
template <class Transposer, DType T>
inline void pack_block(const std::byte* block, std::size_t stride, std::byte* out) noexcept {
  constexpr SegmentList list = panel_segments(T);
  for (int s = 0; s < list.count; ++s) {
    const PanelSegment seg = list.segment[s];
    if (seg.unit == 4) {
      for (std::size_t i = 0; i < seg.count; i += 4) {
        Transposer::words4(block + seg.file_offset + 4 * i, stride, out + i * 64);
      }
    } else if (seg.unit == 2) {
      gather_halves(block + seg.file_offset, stride, out);
    } else {
      // 12 or 16 bytes a row: a word more than 12 is still inside the block.
      alignas(64) std::byte words[4 * 64];
      Transposer::words4(block + seg.file_offset, stride, words);
      for (std::size_t i = 0; i < seg.count; i += 4) Transposer::bytes(words + i * 16, out + i * kPanelRows);
    }
    out += std::size_t{seg.count} * seg.unit * kPanelRows;
  }
}

/// q8_0, q4_0, q4_k, q5_k, q6_k.
template <class Transposer, DType T>
void pack_blocks(const PackArgs& a) noexcept {
  constexpr DTypeInfo format = info(T);
  if (panel_valid_rows(a) < kPanelRows) return pack_segments<T>(a);
  const std::byte* rows = row_data<T>(a, 0);
  const std::size_t stride = static_cast<std::size_t>(row_data<T>(a, 1) - rows);
  std::byte* out = a.out;
  for (std::size_t b = a.k0 / format.block_elems; b < a.k1 / format.block_elems; ++b) {
    pack_block<Transposer, T>(rows + b * format.block_bytes, stride, out);
    out += panel_layout(T).block_bytes;
  }
}

/// f32, f16, bf16: 16 bytes of each row at a time, the rest of the range one by one.
template <class Transposer, DType T>
void pack_floats(const PackArgs& a) noexcept {
  constexpr std::size_t size = info(T).block_bytes;
  constexpr std::size_t step = 16 / size;
  if (panel_valid_rows(a) < kPanelRows) return pack_segments<T>(a);
  const std::byte* rows = row_data<T>(a, 0);
  const std::size_t stride = static_cast<std::size_t>(row_data<T>(a, 1) - rows);
  std::byte* out = a.out;
  std::size_t k = a.k0;
  for (; k + step <= a.k1; k += step, out += 4 * 64) {
    if constexpr (T == DType::f32) {
      Transposer::words4(rows + k * size, stride, out);
    } else {
      alignas(64) std::byte words[4 * 64];
      Transposer::words4(rows + k * size, stride, words);
      for (std::size_t i = 0; i < 4; ++i) Transposer::halves(words + i * 64, out + i * 64);
    }
  }
  if (k == a.k1) return;
  PackArgs rest = a;
  rest.k0 = k;
  rest.out = out;
  pack_segments<T>(rest);
}

}  // namespace
}  // namespace nibblas
