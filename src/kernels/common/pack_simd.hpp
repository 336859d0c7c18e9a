// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/common/columns.hpp"
#include "kernels/common/pack.hpp"

// Packing with vectors, the same bytes as pack_segments(). `Transposer` moves 16 rows at a time:
//   words4(src, stride, out)    4 32-bit words of each row -> 4 x 64 bytes, lane = row
//   halves(words, out)          64 bytes of words -> their low, then their high 16-bit halves: 2 x 32 bytes
//   bytes(words, out)           64 bytes of words -> byte 0, 1, 2, 3 of each row: 4 x 16 bytes
// Rows are read in 16-byte pieces that lie wholly inside the row's block.

namespace nibblas {
namespace {

[[gnu::always_inline]] inline void gather_halves(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
  for (std::size_t r = 0; r < kPanelRows; ++r) std::memcpy(out + 2 * r, src + r * stride, 2);
}

// Prefetching. Blocks of less than a line are asked for a line at a time (prefetch_rows); longer ones whole, each row
// when its block is read or in turn with the work on it (prefetch_block).
constexpr bool blocks_share_lines(DType t) noexcept { return info(t).block_bytes < 64; }

/// Asks for the line `ahead` bytes further in a row; past the end of the row that is the row of the next panel.
[[gnu::always_inline]] inline void prefetch_in_row(const std::byte* row, std::size_t stride, std::size_t row_bytes,
                                                   std::size_t ahead) noexcept {
  if (ahead >= row_bytes) ahead += kPanelRows * stride - row_bytes;
  __builtin_prefetch(row + ahead, 0, 3);
}

/// Asks for what lies 512 bytes ahead in each of 16 rows, a line when `offset` has come to a new one. The hardware
/// follows 16 rows when each has its load instruction and that is all that happens, but not across what is done with
/// them. (To L2 only: a third slower. Four rows at a time, in turn: floats and q4_0 up to a tenth slower.)
template <std::size_t Distance = 512>
[[gnu::always_inline]] inline void prefetch_rows(const std::byte* rows, std::size_t stride, std::size_t row_bytes,
                                                 std::size_t offset, std::size_t step) noexcept {
  if (offset % 64 >= step) return;
  for (std::size_t r = 0; r < kPanelRows; ++r) prefetch_in_row(rows + r * stride, stride, row_bytes, offset + Distance);
}

/// The lines of the block 512 bytes after the one at `offset` of a row. (q4_k, q5_k, q6_k on AVX-512, of DRAM: 256
/// bytes 0.61, 0.57, 0.50; 512 0.86, 0.76, 0.56; 768 0.83, 0.71, 0.50.)
template <DType T>
[[gnu::always_inline]] inline void prefetch_block(const std::byte* row, std::size_t stride, std::size_t row_bytes,
                                                  std::size_t offset) noexcept {
  static_assert(!blocks_share_lines(T));
  for (std::size_t line = 0; line < info(T).block_bytes; line += 64) {
    prefetch_in_row(row, stride, row_bytes, offset + 512 + line);
  }
}

template <class Transposer, PanelSegment Segment>
[[gnu::always_inline]] inline void pack_segment(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
  if constexpr (Segment.unit == 4) {
    for (std::size_t i = 0; i < Segment.count; i += 4) Transposer::words4(src + 4 * i, stride, out + i * 64);
  } else if constexpr (Segment.unit == 2) {
    gather_halves(src, stride, out);
  } else {
    // 12 or 16 bytes a row: a word more than 12 is still inside the block.
    alignas(64) std::byte words[4 * 64];
    Transposer::words4(src, stride, words);
    for (std::size_t i = 0; i < Segment.count; i += 4) Transposer::bytes(words + i * 16, out + i * kPanelRows);
  }
}

/// One block of 16 rows, from segment First on. All that depends on the format alone is known when it compiles: a list
/// walked at run time was three times slower.
template <class Transposer, DType T, std::size_t First = 0>
[[gnu::always_inline]] inline void pack_block(const std::byte* block, std::size_t stride, std::byte* out) noexcept {
  constexpr std::size_t count = static_cast<std::size_t>(panel_segments(T).count) - First;
  for_each_index<count>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t s = First + i;
    constexpr PanelSegment segment = panel_segments(T).segment[s];
    pack_segment<Transposer, segment>(block + segment.file_offset, stride,
                                      out + segment_start<T>(s) - segment_start<T>(First));
  });
}

/// q8_0, q4_0, q4_k, q5_k, q6_k.
template <class Transposer, DType T>
void pack_blocks(const PackArgs& a) noexcept {
  constexpr DTypeInfo format = info(T);
  if (panel_valid_rows(a) < kPanelRows) return pack_segments<T>(a);
  const std::byte* rows = row_data<T>(a, 0);
  const std::size_t stride = row_stride<T>(*a.w);
  const std::size_t row_bytes = row_extent<T>(*a.w);
  std::byte* out = a.out;
  for (std::size_t b = a.k0 / format.block_elems; b < a.k1 / format.block_elems; ++b) {
    if constexpr (blocks_share_lines(T)) {
      prefetch_rows(rows, stride, row_bytes, b * format.block_bytes, format.block_bytes);
    } else {
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        prefetch_block<T>(rows + r * stride, stride, row_bytes, b * format.block_bytes);
      }
    }
    pack_block<Transposer, T>(rows + b * format.block_bytes, stride, out);
    out += panel_layout(T).block_bytes;
  }
}

/// f32, f16, bf16: 16 bytes of each row become four or eight elements of the panel, 256 bytes.
template <class Transposer, DType T>
[[gnu::always_inline]] inline void pack_16_bytes(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
  if constexpr (T == DType::f32) {
    Transposer::words4(src, stride, out);
  } else {
    alignas(64) std::byte words[4 * 64];
    Transposer::words4(src, stride, words);
    for (std::size_t i = 0; i < 4; ++i) Transposer::halves(words + i * 64, out + i * 64);
  }
}

/// The same for a range; the rest of it one by one.
template <class Transposer, DType T>
void pack_floats(const PackArgs& a) noexcept {
  constexpr std::size_t size = info(T).block_bytes;
  constexpr std::size_t step = 16 / size;
  if (panel_valid_rows(a) < kPanelRows) return pack_segments<T>(a);
  const std::byte* rows = row_data<T>(a, 0);
  const std::size_t stride = row_stride<T>(*a.w);
  std::byte* out = a.out;
  std::size_t k = a.k0;
  for (; k + step <= a.k1; k += step, out += 4 * 64) {
    prefetch_rows(rows, stride, row_extent<T>(*a.w), k * size, 16);
    pack_16_bytes<Transposer, T>(rows + k * size, stride, out);
  }
  if (k == a.k1) return;
  PackArgs rest = a;
  rest.k0 = k;
  rest.out = out;
  pack_segments<T>(rest);
}

}  // namespace
}  // namespace nibblas
