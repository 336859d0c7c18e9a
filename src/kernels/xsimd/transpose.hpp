// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <xsimd/xsimd.hpp>

#include "kernels/xsimd/bits.hpp"
#include "nibblas/panel.hpp"

namespace nibblas::xsimd_kernels {
namespace {

/// `Narrow` is the architecture's 128-bit form: a row gives 16 bytes, and wider zips differ between architectures.
template <class Narrow>
struct Transposer {
  static_assert(::xsimd::batch<std::int32_t, Narrow>::size == 4);

  [[gnu::always_inline]] static void words4(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    for (std::size_t r = 0; r < kPanelRows; r += 4) words4_of_4(src + r * stride, stride, out + r * 4);
  }
  [[gnu::always_inline]] static void halves(const std::byte* words, std::byte* out) noexcept {
    split<std::uint16_t>(words, out);
  }
  [[gnu::always_inline]] static void bytes(const std::byte* words, std::byte* out) noexcept {
    split<std::uint8_t>(words, out);
  }

 private:
  using I = ::xsimd::batch<std::int32_t, Narrow>;
  using L = ::xsimd::batch<std::int64_t, Narrow>;

  [[gnu::always_inline]] static void words4_of_4(const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    const I a = row(src);
    const I b = row(src + stride);
    const I c = row(src + 2 * stride);
    const I d = row(src + 3 * stride);
    const L ab_low = pairs(::xsimd::zip_lo(a, b));
    const L ab_high = pairs(::xsimd::zip_hi(a, b));
    const L cd_low = pairs(::xsimd::zip_lo(c, d));
    const L cd_high = pairs(::xsimd::zip_hi(c, d));
    store(out, ::xsimd::zip_lo(ab_low, cd_low));
    store(out + 64, ::xsimd::zip_hi(ab_low, cd_low));
    store(out + 128, ::xsimd::zip_lo(ab_high, cd_high));
    store(out + 192, ::xsimd::zip_hi(ab_high, cd_high));
  }
  [[gnu::always_inline]] static I row(const std::byte* p) noexcept {
    return I::load_unaligned(reinterpret_cast<const std::int32_t*>(p));
  }
  [[gnu::always_inline]] static L pairs(I a) noexcept { return cast<L>(a); }
  [[gnu::always_inline]] static void store(std::byte* p, L v) noexcept {
    v.store_unaligned(reinterpret_cast<std::int64_t*>(p));
  }

  /// Piece i of each of 16 words, from the lowest bits up. Plain loops: compilers have the narrowing moves, xsimd not.
  template <class Piece>
  [[gnu::always_inline]] static void split(const std::byte* words, std::byte* out) noexcept {
    std::uint32_t word[kPanelRows];
    std::memcpy(word, words, sizeof word);
    for (std::size_t i = 0; i < sizeof(std::uint32_t) / sizeof(Piece); ++i) {
      Piece piece[kPanelRows];
      for (std::size_t r = 0; r < kPanelRows; ++r) piece[r] = static_cast<Piece>(word[r] >> (8 * sizeof(Piece) * i));
      std::memcpy(out + i * sizeof piece, piece, sizeof piece);
    }
  }
};

}  // namespace
}  // namespace nibblas::xsimd_kernels
