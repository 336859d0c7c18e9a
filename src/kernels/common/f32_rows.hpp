// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/common/f32.hpp"
#include "kernels/common/pack_simd.hpp"

// One token on f32, f16 and bf16 rows as they lie in the file. Packing a range and multiplying the panel is as fast
// from L2 but takes turns with memory; a few elements at a time, the next lines come while these are transposed and
// used.

namespace nibblas {
namespace {

template <class Isa, class Transposer, DType W>
void float_rows(const RowsArgs& a) noexcept {
  using F = typename Isa::F;
  constexpr std::size_t size = info(W).block_bytes;
  constexpr std::size_t step = 16 / size;
  constexpr std::size_t columns = kPanelRows / Isa::lanes;
  constexpr std::size_t ahead = 256;  // 512 is up to a tenth slower: rows 4096 bytes apart are in one set of L1
  const std::size_t K = a.w->K;
  const std::size_t stride = row_stride<W>(*a.w);
  const std::size_t row_bytes = row_extent<W>(*a.w);
  const std::byte* rows = a.w->data + a.row0 * stride;
  const auto* x = reinterpret_cast<const float*>(a.x);
  for (std::size_t k = 0; k < K; k += 64) {
    const std::size_t end = std::min(k + 64, K);
    F p[columns];
    for_each_index<columns>([&](auto c) __attribute__((always_inline)) { p[c()] = Isa::zero(); });
    const auto take = [&](float xk, const std::byte* w) __attribute__((always_inline)) {
      for_each_index<columns>([&](auto c) __attribute__((always_inline)) {
        p[c()] = Isa::fma(Isa::broadcast(xk), load_weights<Isa, W>(w + c() * Isa::lanes * size), p[c()]);
      });
    };
    std::size_t at = k;
    for (; at + step <= end; at += step) {
      prefetch_rows<ahead>(rows, stride, row_bytes, at * size, 16);
      alignas(64) std::byte panel[16 * kPanelRows];  // which stays in registers where loads are as wide as stores
      pack_16_bytes<Transposer, W>(rows + at * size, stride, panel);
      for_each_index<step>([&](auto i)
                               __attribute__((always_inline)) { take(x[at + i], panel + i * kPanelRows * size); });
    }
    if (at < end) {
      alignas(64) std::byte panel[16 * kPanelRows];
      pack_segments<W>({a.w, a.row0, at, end, panel});
      for (std::size_t i = 0; at + i < end; ++i) take(x[at + i], panel + i * kPanelRows * size);
    }
    for_each_index<columns>([&](auto c) __attribute__((always_inline)) {
      fold_floats<Isa, false>(p[c()], Fold(k, end, K), a.state + c() * Isa::lanes);
    });
  }
}

}  // namespace
}  // namespace nibblas
