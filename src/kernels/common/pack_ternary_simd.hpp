// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/common/columns.hpp"
#include "kernels/common/pack_simd.hpp"
#include "kernels/common/pack_ternary.hpp"

// Ternary packing with vectors, the same bytes as pack_tq() and pack_bitnet(). Rows become columns of words first
// (Transposer::words4); what is left moves bits inside each row's own words.

namespace nibblas {
namespace {

template <class Isa>
[[gnu::always_inline]] inline typename Isa::I word_mask(std::uint32_t mask) noexcept {
  const auto bits = static_cast<std::int32_t>(mask);
  return Isa::broadcast32(&bits);
}

/// tq2_0: bit pair l of byte 4g + i of 16 bytes is element 32l + 4g + i, so the four words of pair l take one bit pair
/// of each of the four words read: a 4 x 4 transposition of bit pairs, by halves and then by pairs.
template <class Isa>
[[gnu::always_inline]] inline void transpose_pairs(typename Isa::I (&w)[4]) noexcept {
  using I = typename Isa::I;
  const auto swap = [](I & low, I & high, auto shift, int keep) __attribute__((always_inline)) {
    constexpr int n = decltype(shift)::value;
    const I mask = Isa::bytes(keep);
    const I high_mask = Isa::bytes(keep << n);
    const I a = Isa::bit_or(Isa::bit_and(low, mask), Isa::bit_and(Isa::template shift_left16<n>(high), high_mask));
    const I b = Isa::bit_or(Isa::bit_and(Isa::template shift_right16<n>(low), mask), Isa::bit_and(high, high_mask));
    low = a;
    high = b;
  };
  swap(w[0], w[2], std::integral_constant<int, 4>{}, 0x0f);
  swap(w[1], w[3], std::integral_constant<int, 4>{}, 0x0f);
  swap(w[0], w[1], std::integral_constant<int, 2>{}, 0x33);
  swap(w[2], w[3], std::integral_constant<int, 2>{}, 0x33);
}

/// bitnet_b158: element 4b + i is bit pair i of byte b of the stream and becomes bit pair b of byte i: a transposition
/// inside each 32-bit word, by 2 x 2 blocks and then by single pairs.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::I transpose_word(typename Isa::I w) noexcept {
  using I = typename Isa::I;
  const auto swap = [](I v, auto shift, std::uint32_t low) __attribute__((always_inline)) {
    constexpr int n = decltype(shift)::value;
    const I mask = word_mask<Isa>(low);
    const I stay = word_mask<Isa>(~(low | low << n));
    const I up = Isa::template shift32<n>(Isa::bit_and(v, mask));
    const I down = Isa::bit_and(Isa::template shift32<-n>(v), mask);
    return Isa::bit_or(Isa::bit_and(v, stay), Isa::bit_or(up, down));
  };
  w = swap(w, std::integral_constant<int, 12>{}, 0x0000f0f0u);
  return swap(w, std::integral_constant<int, 6>{}, 0x00cc00ccu);
}

/// Base-3 bytes: takes the next digit, 0..2, off each byte: three times the byte is 256 * digit + the rest.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::I take_digit(typename Isa::I& bytes) noexcept {
  using I = typename Isa::I;
  const I mask = word_mask<Isa>(0x00ff00ffu);
  const auto triple = [](I v) __attribute__((always_inline)) {
    return Isa::add32(v, Isa::template shift_left16<1>(v));  // at most 765 in 16 bits
  };
  const I even = triple(Isa::bit_and(bytes, mask));
  const I odd = triple(Isa::template shift_right16<8>(bytes));
  bytes = Isa::bit_or(Isa::bit_and(even, mask), Isa::template shift_left16<8>(odd));
  return Isa::bit_or(Isa::template shift_right16<8>(even), Isa::bit_and(odd, word_mask<Isa>(0xff00ff00u)));
}

/// 16 bytes of each row, whose registers are four words of Isa::lanes rows, handed to f.
template <class Isa, class Transposer, class F>
[[gnu::always_inline]] inline void for_each_column(const std::byte* src, std::size_t stride, F f) noexcept {
  alignas(64) std::byte words[4 * 64];
  Transposer::words4(src, stride, words);
  for (std::size_t lane = 0; lane < 64; lane += Isa::lanes * 4) {
    typename Isa::I w[4];
    for (std::size_t g = 0; g < 4; ++g) w[g] = Isa::load_words(words + g * 64 + lane);
    f(w, lane);
  }
}

/// One block of 16 rows of tq2_0.
template <class Isa, class Transposer>
inline void pack_tq2_0_block(const std::byte* block, std::size_t stride, std::byte* out) noexcept {
  for (std::size_t part = 0; part < 4; ++part) {
    for_each_column<Isa, Transposer>(
        block + 16 * part, stride, [&](typename Isa::I(&w)[4], std::size_t lane) __attribute__((always_inline)) {
          transpose_pairs<Isa>(w);
          // Half part / 2 of the block, bit pair l, upper or lower 16 elements of its 32.
          for (std::size_t l = 0; l < 4; ++l) {
            Isa::store_words(out + (part / 2 * 8 + 2 * l + part % 2) * 64 + lane, w[l]);
          }
        });
  }
  gather_halves(block + 64, stride, out + 16 * 64);
}

/// One block of 16 rows of tq1_0.
template <class Isa, class Transposer>
inline void pack_tq1_0_block(const std::byte* block, std::size_t stride, std::byte* out) noexcept {
  using I = typename Isa::I;
  // Bytes 4g + i of 16: digit n of all of them is one word.
  const auto digits = [](I(&w)[4]) __attribute__((always_inline)) {
    I word = take_digit<Isa>(w[0]);
    word = Isa::bit_or(word, Isa::template shift_left16<2>(take_digit<Isa>(w[1])));
    word = Isa::bit_or(word, Isa::template shift_left16<4>(take_digit<Isa>(w[2])));
    return Isa::bit_or(word, Isa::template shift_left16<6>(take_digit<Isa>(w[3])));
  };
  for (std::size_t part = 0; part < 3; ++part) {
    for_each_column<Isa, Transposer>(
        block + 16 * part, stride, [&](I(&w)[4], std::size_t lane) __attribute__((always_inline)) {
          for (std::size_t n = 0; n < 5; ++n) {
            const std::size_t word = part < 2 ? 2 * n + part : 10 + n;
            Isa::store_words(out + word * 64 + lane, digits(w));
          }
        });
  }
  // qh is the last of the four words that begin at byte 36; its digit n is elements 4n + i of the last word.
  for_each_column<Isa, Transposer>(
      block + 36, stride, [&](I(&w)[4], std::size_t lane) __attribute__((always_inline)) {
        I word = take_digit<Isa>(w[3]);
        word = Isa::bit_or(word, Isa::template shift_left16<2>(take_digit<Isa>(w[3])));
        word = Isa::bit_or(word, Isa::template shift_left16<4>(take_digit<Isa>(w[3])));
        word = Isa::bit_or(word, Isa::template shift_left16<6>(take_digit<Isa>(w[3])));
        Isa::store_words(out + 15 * 64 + lane, word);
      });
  gather_halves(block + 52, stride, out + 16 * 64);
}

template <class Isa, class Transposer, DType T>
void pack_tq_simd(const PackArgs& a) noexcept {
  constexpr DTypeInfo format = info(T);
  if (panel_valid_rows(a) < kPanelRows) return pack_tq<T>(a);
  const std::byte* rows = row_data<T>(a, 0);
  const auto stride = row_stride<T>(*a.w);
  std::byte* out = a.out;
  for (std::size_t b = a.k0 / format.block_elems; b < a.k1 / format.block_elems; ++b) {
    const std::byte* block = rows + b * format.block_bytes;
    if constexpr (T == DType::tq2_0) {
      pack_tq2_0_block<Isa, Transposer>(block, stride, out);
    } else {
      pack_tq1_0_block<Isa, Transposer>(block, stride, out);
    }
    out += panel_layout(T).block_bytes;
  }
}

/// Rows of bitnet_b158 from their first element on, shifted to begin at a byte. Room for 256 elements of each, so that
/// what is read back in vectors has left the store buffers.
struct AlignedRows {
  static constexpr std::size_t max_elems = 256;
  static constexpr std::size_t stride = max_elems / 4;
  alignas(64) std::byte bytes[kPanelRows * stride];

  /// Elements [k, k + n) of the panel's 16 rows; n is a multiple of 64. For 64 elements 17 bytes are read: the last one
  /// holds some of them, or is a later one of the tensor's, whose scale follows its codes.
  [[gnu::always_inline]] void fill(const PackArgs& a, std::size_t k, std::size_t n) noexcept {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const std::size_t first = (a.row0 + r) * a.w->K + k;
      const std::byte* src = a.w->data + first / 4;
      const unsigned shift = 2 * static_cast<unsigned>(first % 4);
      std::byte* out = bytes + r * stride;
      for (std::size_t i = 0; i < n / 4; i += 8) {
        std::uint64_t low;
        std::memcpy(&low, src + i, sizeof low);
        const auto high = std::to_integer<std::uint64_t>(src[i + 8]);
        const std::uint64_t codes = low >> shift | high << 1 << (63 - shift);  // nothing of `high` when shift is 0
        std::memcpy(out + i, &codes, sizeof codes);
      }
    }
  }
};

/// 64 elements of 16 rows, each row's 16 bytes at src + row * stride.
template <class Isa, class Transposer>
[[gnu::always_inline]] inline void pack_bitnet_64(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
  for_each_column<Isa, Transposer>(
      src, stride, [&](typename Isa::I(&w)[4], std::size_t lane) __attribute__((always_inline)) {
        for (std::size_t j = 0; j < 4; ++j) Isa::store_words(out + j * 64 + lane, transpose_word<Isa>(w[j]));
      });
}

/// 64 elements of each row at a time; the rest, with the scales, element by element.
template <class Isa, class Transposer>
void pack_bitnet_simd(const PackArgs& a) noexcept {
  const std::size_t K = a.w->K;
  if (panel_valid_rows(a) < kPanelRows) return pack_bitnet(a);
  PackArgs rest = a;
  if (K % 4 == 0) {
    const std::byte* rows = a.w->data + a.row0 * (K / 4);
    for (; rest.k0 + 64 <= a.k1; rest.k0 += 64, rest.out += 4 * 64) {
      pack_bitnet_64<Isa, Transposer>(rows + rest.k0 / 4, K / 4, rest.out);
    }
  } else {
    AlignedRows rows;
    while (rest.k0 + 64 <= a.k1) {
      const std::size_t n = std::min((a.k1 - rest.k0) / 64 * 64, AlignedRows::max_elems);
      rows.fill(a, rest.k0, n);
      for (std::size_t i = 0; i < n; i += 64, rest.k0 += 64, rest.out += 4 * 64) {
        pack_bitnet_64<Isa, Transposer>(rows.bytes + i / 4, AlignedRows::stride, rest.out);
      }
    }
  }
  pack_bitnet(rest);
}

}  // namespace
}  // namespace nibblas
