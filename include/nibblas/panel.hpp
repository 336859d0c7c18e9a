// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nibblas/dtype.hpp"

// The two memory layouts that kernels share: packed weights (panels of 16 rows) and prepared activations.
// Both are the same on every architecture and for every provider. docs/architecture.md draws them.

namespace nibblas {

inline constexpr std::size_t kPanelRows = 16;

/// Layouts from here on belong to whole kernels from outside.
inline constexpr std::uint32_t kFirstForeignLayout = 0x1000;

/// A panel is 16 rows of W. Along K it is a sequence of blocks, then a tail. Inside a block the codes come as 64-byte
/// words: 32-bit lane r of a word belongs to row r and holds that row's next 4 bytes *of the file's block*, so packing
/// transposes 32-bit words and nothing else. The block's 16 scales follow its codes.
///
///   f32        per k:   16 f32
///   f16, bf16  per k:   16 u16
///   q8_0       per 32:  8 words; 16 f16 d
///   q4_0       per 32:  4 words (low nibbles k = 4g + i, high nibbles k = 16 + 4g + i); 16 f16 d
///   q4_k       per 256: 32 words qs; scales[12] as 12 x 16 bytes; 16 f16 d; 16 f16 dmin
///   q5_k       per 256: 32 words qs; 8 words qh; scales as 12 x 16 bytes; 16 f16 d; 16 f16 dmin
///   q6_k       per 256: 32 words ql; 16 words qh; scales as 16 x 16 i8; 16 f16 d
///   tq1_0, tq2_0  per 256: 16 words of 2-bit codes (word j: k = 16j + 4g + i is bits 2g of byte i); 16 f16 d
///   bitnet_b158   per 32: 2 words of 2-bit codes as above; tail: 16 f32 row scales
///
/// Rows past N and elements past K are zero weights (2-bit code 1).
struct PanelLayout {
  std::uint32_t id;
  std::uint16_t version;
  std::uint32_t block_elems;
  std::uint32_t block_bytes;  ///< of all 16 rows
  std::uint32_t tail_bytes;   ///< after the last block of a panel

  constexpr std::size_t blocks(std::size_t K) const noexcept { return K / block_elems + (K % block_elems != 0); }
  /// Bytes of blocks [k0, k1) of a panel, without the tail.
  constexpr std::size_t range_bytes(std::size_t k0, std::size_t k1) const noexcept {
    return (blocks(k1) - k0 / block_elems) * block_bytes;
  }
  constexpr std::size_t panel_bytes(std::size_t K) const noexcept { return range_bytes(0, K) + tail_bytes; }
};

inline constexpr std::array<PanelLayout, kDTypeCount> kPanelLayouts{{
    {1, 1, 1, 64, 0},                                  // f32
    {2, 1, 1, 32, 0},                                  // f16
    {3, 1, 1, 32, 0},                                  // bf16
    {4, 1, 32, 8 * 64 + 32, 0},                        // q8_0
    {5, 1, 32, 4 * 64 + 32, 0},                        // q4_0
    {6, 1, 256, 32 * 64 + 12 * 16 + 64, 0},            // q4_k
    {7, 1, 256, 32 * 64 + 8 * 64 + 12 * 16 + 64, 0},   // q5_k
    {8, 1, 256, 32 * 64 + 16 * 64 + 16 * 16 + 32, 0},  // q6_k
    {9, 1, 256, 16 * 64 + 32, 0},                      // tq1_0
    {9, 1, 256, 16 * 64 + 32, 0},                      // tq2_0
    {10, 1, 32, 2 * 64, 64},                           // bitnet_b158
}};
constexpr const PanelLayout& panel_layout(DType t) noexcept { return kPanelLayouts[static_cast<std::size_t>(t)]; }

constexpr std::size_t panel_count(std::size_t N) noexcept { return N / kPanelRows + (N % kPanelRows != 0); }

// ---- prepared activations -------------------------------------------------------------------------------------------
// X is cut into tiles of at most tile_tokens(compute) rows. A tile of T tokens is, by compute:
//
//   f32:               x[K][T] f32, then sums[ceil(K/32)][T] f32: the sum of each 32 x, ascending
//   int8, int8_token:  per 32 elements a block { i8 codes[T][32]; Int8Token token[T]; }
//
// Codes past K are 0. int8_token repeats the row's one scale in every block.

struct Int8Token {
  float d;            ///< scale: x = d * code
  float dsum;         ///< d * float(sum of the 32 codes)
  std::int32_t bias;  ///< -8 * sum of the 32 codes: where a dot of codes with offset 8 starts; shift it for 1, 32, 128
  std::int32_t bias_lo;  ///< -8 * sum of codes 0..15
};
static_assert(sizeof(Int8Token) == 16);

inline constexpr std::size_t kActBlock = 32;

/// Tokens in a full tile. f32: 24 is a multiple of what 6, 8 or 12 rows of accumulators need. int8: so many share each
/// decoded weight (64 instead of 16: q6_k a fifth faster, q8_0 5 %). int8_token, whose codes need little decoding,
/// keeps a longer K range in L1 instead.
constexpr std::size_t tile_tokens(Compute c) noexcept { return c == Compute::f32 ? 24 : c == Compute::int8 ? 64 : 16; }

constexpr std::size_t activation_tile_bytes(Compute c, std::size_t tokens, std::size_t K) noexcept {
  const std::size_t blocks = K / kActBlock + (K % kActBlock != 0);
  return c == Compute::f32 ? (K + blocks) * tokens * sizeof(float) : blocks * tokens * (kActBlock + sizeof(Int8Token));
}

}  // namespace nibblas
