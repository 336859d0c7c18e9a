// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/common/int8.hpp"
#include "kernels/common/pack_simd.hpp"

// One token on rows as they lie in the file, with the sums of int8.hpp: what a panel would be is never written. A dot's
// 32 products are integers, whose order is free, so a register takes 16 bytes of each of some rows, and the sums of a
// row's lanes meet once a block. Packing the rows and multiplying the panels took two to three times as long, both from
// L2. Scales are packed: 16 rows' worth of them make a register.

namespace nibblas {
namespace {

template <class Isa>
concept DotsRows = requires(const typename Isa::I (&v)[4]) {
  Isa::sum_rows(v);
};

/// 16 rows: every fourth is a pointer that goes along, the others lie one, two or three strides further, which is what
/// an address can say.
struct Rows {
  const std::byte* four[kPanelRows / 4];

  Rows(const std::byte* row, std::size_t stride) noexcept {
    for (std::size_t i = 0; i < kPanelRows / 4; ++i) four[i] = row + 4 * i * stride;
  }
  [[gnu::always_inline]] void advance(std::size_t bytes) noexcept {
    for (const std::byte*& p : four) p += bytes;
  }
};

/// A block of rows R, R + 4, ... where codecs expect words of a panel: 16 bytes, which would be four words there, of
/// each row.
template <class Isa, DType T, std::size_t R>
struct RowsBlock {
  const std::byte* const* four;
  std::size_t stride;

  template <std::size_t Segment>
  [[gnu::always_inline]] typename Isa::I words(std::size_t i) const noexcept {
    return Isa::load_rows(four, R * stride + panel_segments(T).segment[Segment].file_offset + 4 * i);
  }
};

/// The integer dots of a run of a column, over each scale's elements. Rows on the outside: their words, which take four
/// loads each, serve all sub-blocks that keep bits in them. `passing` is called with each number below 4 *
/// scales_per_32, for what is to be done in between.
template <class Isa, class Codec>
struct RunSums {
  static constexpr std::size_t subs = Codec::run_elems / kActBlock;
  typename Isa::I of[subs][Codec::scales_per_32];

  template <class Passing>
  [[gnu::always_inline]] void add_up(const std::byte* const* four, std::size_t stride, auto run,
                                     const ActBlock (&x)[subs], Passing passing) noexcept {
    constexpr std::size_t pieces = 2 / Codec::scales_per_32;
    using Dots = typename Isa::template Dots<Codec::max_code, static_cast<int>(pieces)>;
    for_each_index<Codec::scales_per_32>([&](auto part) __attribute__((always_inline)) {
      typename Isa::I sums[subs][4];
      for_each_index<4>([&](auto r) __attribute__((always_inline)) {
        const RowsBlock<Isa, Codec::dtype, r()> rows{four, stride};
        passing(4 * part() + r());
        for_each_index<subs>([&](auto sub) __attribute__((always_inline)) {
          Dots dot;
          dot.start(Isa::zero_int());
          for_each_index<pieces>([&](auto i) __attribute__((always_inline)) {
            constexpr std::size_t piece = part * pieces + i;
            dot.template step<static_cast<int>(i())>(Codec::template word<sub(), 4 * piece>(rows, run),
                                                     Isa::broadcast16(x[sub()].codes + 16 * piece));
          });
          sums[sub()][r()] = dot.finish(Isa::zero_int());
        });
      });
      for (std::size_t sub = 0; sub < subs; ++sub) of[sub][part()] = Isa::sum_rows(sums[sub]);
    });
  }
};

template <class Isa, class Transposer, class Codec>
void int8_rows(const RowsArgs& a) noexcept {
  constexpr DType T = Codec::dtype;
  constexpr DTypeInfo format = info(T);
  constexpr std::size_t columns = kPanelRows / Isa::lanes;
  const std::size_t stride = row_stride<T>(*a.w);
  const std::size_t row_bytes = row_extent<T>(*a.w);
  const std::byte* first = a.w->data + a.row0 * stride;
  std::size_t offset = 0;
  Rows rows(first, stride);
  typename Isa::F acc[columns];
  for (std::size_t c = 0; c < columns; ++c) acc[c] = Isa::zero();
  for (std::size_t k = 0; k < a.w->K; k += format.block_elems) {
    if constexpr (blocks_share_lines(T)) {
      prefetch_rows(first, stride, row_bytes, offset, format.block_bytes);
    }
    alignas(64) std::byte scales[panel_layout(T).block_bytes - codes_bytes(T)];
    typename Codec::Unpacked unpacked;
    if constexpr (format.block_elems != kActBlock) {
      pack_block<Transposer, T, code_segments(T)>(rows.four[0], stride, scales);
      unpacked.template unpack<Isa>(scales);
    }
#pragma GCC unroll 1
    for (std::size_t run = 0; run < format.block_elems / Codec::run_elems; ++run) {
      using Sums = RunSums<Isa, Codec>;
      ActBlock x[Sums::subs];
      for (std::size_t sub = 0; sub < Sums::subs; ++sub) {
        x[sub] = act_block(a.x, 1, k / kActBlock + sub_index<Codec>(run, sub));
      }
      for_each_index<columns>([&](auto c) __attribute__((always_inline)) {
        const std::byte* const* four = rows.four + c() * Isa::lanes / 4;
        Sums sums;
        sums.add_up(
            four, stride, run, x, [&](std::size_t turn) __attribute__((always_inline)) {
              if constexpr (!blocks_share_lines(T)) {
                // A row of the column's every so often, all of them once a block.
                constexpr std::size_t turns = format.block_elems / Codec::run_elems * Codec::scales_per_32 * 4;
                static_assert(turns % Isa::lanes == 0);
                turn += run * Codec::scales_per_32 * 4;
                if (turn % (turns / Isa::lanes) == 0) {
                  const std::size_t row = c() * Isa::lanes + turn / (turns / Isa::lanes);
                  prefetch_block<T>(first + row * stride, stride, row_bytes, offset);
                }
              }
            });
        for_each_index<Sums::subs>([&](auto sub) __attribute__((always_inline)) {
          BlockScales<Isa> s;
          if constexpr (format.block_elems == kActBlock) {
            static_assert(panel_segments(T).segment[1].file_offset == 0, "the scale is where the block begins");
            s.scale[0] = Isa::load_f16_rows(four, stride);
          } else {
            Codec::template scales<sub()>(scales, unpacked, run, c(), s);
          }
          const Int8Token& token = x[sub()].token[0];
          for_each_index<Codec::scales_per_32>([&](auto part) __attribute__((always_inline)) {
            const auto sum = Isa::add32(sums.of[sub()][part()], dot_bias<Isa, Codec, part()>(token));
            add_sum<part(), Isa, Codec>(Isa::to_float(sum), token, s, acc[c()]);
          });
        });
      });
    }
    rows.advance(format.block_bytes);
    offset += format.block_bytes;
  }
  for (std::size_t c = 0; c < columns; ++c) Isa::store(a.state + c * Isa::lanes, acc[c]);
}

}  // namespace
}  // namespace nibblas
