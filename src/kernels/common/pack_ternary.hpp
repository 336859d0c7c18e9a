// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/common/pack.hpp"

// The ternary panel: 2-bit codes, 16 to a 32-bit lane, k = 16j + 4g + i in bits 2g of byte i of word j.

namespace nibblas {
namespace {

/// 16 codes of one row, one a byte, into their lane's 32 bits.
inline std::uint32_t ternary_word(const std::uint8_t* codes) noexcept {
  std::uint32_t word = 0;
  for (unsigned g = 0; g < 4; ++g) {
    for (unsigned i = 0; i < 4; ++i) word |= std::uint32_t{codes[4 * g + i]} << (8 * i + 2 * g);
  }
  return word;
}

inline constexpr std::uint32_t kTernaryZeroWord = 0x55555555;  // sixteen codes 1: sixteen zero weights

/// 256 codes of a tq2_0 block, one a byte, in order of k.
inline void tq2_0_codes(const std::byte* block, std::uint8_t* codes) noexcept {
  for (std::size_t j = 0; j < 2; ++j) {
    for (std::size_t m = 0; m < 32; ++m) {
      const auto byte = std::to_integer<unsigned>(block[32 * j + m]);
      for (std::size_t l = 0; l < 4; ++l)
        codes[128 * j + 32 * l + m] = static_cast<std::uint8_t>((byte >> (2 * l)) & 3u);
    }
  }
}

/// Digit n (0 = most significant) of a base-3 byte.
inline std::uint8_t tq1_0_digit(std::byte packed, std::size_t n) noexcept {
  constexpr std::uint8_t pow3[5] = {1, 3, 9, 27, 81};
  const auto shifted = static_cast<std::uint8_t>(std::to_integer<unsigned>(packed) * pow3[n]);
  return static_cast<std::uint8_t>((std::uint32_t{shifted} * 3) >> 8);
}

/// 256 codes of a tq1_0 block, one a byte, in order of k.
inline void tq1_0_codes(const std::byte* block, std::uint8_t* codes) noexcept {
  for (std::size_t n = 0; n < 5; ++n) {
    for (std::size_t m = 0; m < 32; ++m) codes[32 * n + m] = tq1_0_digit(block[m], n);
    for (std::size_t m = 0; m < 16; ++m) codes[160 + 16 * n + m] = tq1_0_digit(block[32 + m], n);
  }
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t j = 0; j < 4; ++j) codes[240 + 4 * n + j] = tq1_0_digit(block[48 + j], n);
  }
}

template <DType T>
void pack_tq(const PackArgs& a) noexcept {
  static_assert(T == DType::tq1_0 || T == DType::tq2_0);
  constexpr DTypeInfo format = info(T);
  constexpr std::size_t scale_offset = format.block_bytes - 2;
  constexpr PanelLayout layout = panel_layout(T);
  const std::size_t rows = panel_valid_rows(a);
  std::byte* out = a.out;
  for (std::size_t k = a.k0; k < a.k1; k += format.block_elems, out += layout.block_bytes) {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      std::uint8_t codes[256];
      std::uint16_t d = 0;
      if (r < rows) {
        const std::byte* block = row_data<T>(a, r) + k / format.block_elems * format.block_bytes;
        if constexpr (T == DType::tq2_0) {
          tq2_0_codes(block, codes);
        } else {
          tq1_0_codes(block, codes);
        }
        std::memcpy(&d, block + scale_offset, sizeof d);
      } else {
        std::memset(codes, 1, sizeof codes);
      }
      for (std::size_t j = 0; j < 16; ++j) {
        const std::uint32_t word = ternary_word(codes + 16 * j);
        std::memcpy(out + (j * kPanelRows + r) * 4, &word, 4);
      }
      std::memcpy(out + 16 * 64 + 2 * r, &d, 2);
    }
  }
}

/// Rows need not start at a byte: element (n, k) is code n * K + k of one stream.
void pack_bitnet(const PackArgs& a) noexcept {
  constexpr PanelLayout layout = panel_layout(DType::bitnet_b158);
  const std::size_t K = a.w->K;
  const std::size_t rows = panel_valid_rows(a);
  const std::size_t code_bytes = a.w->N * K / 4 + (a.w->N * K % 4 != 0);
  std::byte* out = a.out;
  for (std::size_t k = a.k0; k < a.k1; k += layout.block_elems, out += layout.block_bytes) {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      std::uint8_t codes[32];
      std::memset(codes, 1, sizeof codes);
      if (r < rows) {
        const std::size_t first = (a.row0 + r) * K + k;
        const std::size_t n = K - k < 32 ? K - k : 32;
        for (std::size_t i = 0; i < n; ++i) {
          const auto byte = std::to_integer<unsigned>(a.w->data[(first + i) / 4]);
          codes[i] = static_cast<std::uint8_t>((byte >> (2 * ((first + i) % 4))) & 3u);
        }
      }
      for (std::size_t j = 0; j < 2; ++j) {
        const std::uint32_t word = ternary_word(codes + 16 * j);
        std::memcpy(out + (j * kPanelRows + r) * 4, &word, 4);
      }
    }
  }
  if (a.k1 == K) {
    float scale;
    std::memcpy(&scale, a.w->data + code_bytes, sizeof scale);
    for (std::size_t r = 0; r < kPanelRows; ++r) std::memcpy(out + 4 * r, &scale, sizeof scale);
  }
}

}  // namespace
}  // namespace nibblas
