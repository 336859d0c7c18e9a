// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "formats/half.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/views.hpp"
#include "strict_fp.hpp"

// What the library knows about a format: one FormatCodec, made from the format's own header and listed in
// formats.cpp. A block format is a struct with
//   struct Block                                      the bytes, alignment at most 2
//   static constexpr DType dtype
//   static constexpr float max_abs                    the largest |x| that encode can take
//   static void decode(const Block&, float* out)      info(dtype).block_elems values
//   static Fault check(const Block&)                  what makes these bytes invalid, if anything does
//   static void encode(const float* x, Block&)        |x| <= max_abs
// All functions run inside an FpEnvironment.

namespace nibblas::formats {

static_assert(std::endian::native == std::endian::little, "blocks are read as they lie in the file");

/// Why a block is not valid.
struct Fault {
  enum class Kind : std::uint8_t { none, scale, element, code };
  Kind kind = Kind::none;
  const char* field = "";    ///< scale: its name in the block
  float value = 0;           ///< scale, element: NaN or an infinity
  std::size_t position = 0;  ///< scale: block of the row; element, code: element of the row
  explicit operator bool() const noexcept { return kind != Kind::none; }
};

struct FormatCodec {
  DType dtype;
  void (*decode_row)(const WeightView& w, std::size_t row, float* out) noexcept;
  Fault (*check_row)(const WeightView& w, std::size_t row) noexcept;
  float max_abs;
  void (*encode)(const ConstMatrixView& x, std::byte* out) noexcept;
};

inline Fault check_scale(const char* field, std::uint16_t half) noexcept {
  if (half_is_finite(half)) return {};
  return {Fault::Kind::scale, field, half_to_float(half), 0};
}

inline Fault check_element(float value) noexcept {
  if (float_is_finite(value)) return {};
  return {Fault::Kind::element, "", value, 0};
}

template <class Format>
struct BlockRows {
  using Block = typename Format::Block;
  static constexpr std::size_t kElems = info(Format::dtype).block_elems;
  static_assert(sizeof(Block) == info(Format::dtype).block_bytes);

  static const std::byte* row_begin(const WeightView& w, std::size_t row) noexcept {
    const std::size_t dense = w.K / kElems * sizeof(Block);
    return w.data + row * w.stride(dense);
  }

  static void decode_row(const WeightView& w, std::size_t row, float* out) noexcept {
    const std::byte* from = row_begin(w, row);
    for (std::size_t b = 0; b < w.K / kElems; ++b) {
      Block block;
      std::memcpy(&block, from + b * sizeof(Block), sizeof(Block));
      Format::decode(block, out + b * kElems);
    }
  }

  static Fault check_row(const WeightView& w, std::size_t row) noexcept {
    const std::byte* from = row_begin(w, row);
    for (std::size_t b = 0; b < w.K / kElems; ++b) {
      Block block;
      std::memcpy(&block, from + b * sizeof(Block), sizeof(Block));
      if (Fault fault = Format::check(block)) {
        fault.position = fault.kind == Fault::Kind::scale ? b : b * kElems + fault.position;
        return fault;
      }
    }
    return {};
  }

  static void encode(const ConstMatrixView& x, std::byte* out) noexcept {
    for (std::size_t row = 0; row < x.rows; ++row) {
      for (std::size_t k = 0; k < x.cols; k += kElems, out += sizeof(Block)) {
        Block block;
        Format::encode(x.data + row * x.stride + k, block);
        std::memcpy(out, &block, sizeof(Block));
      }
    }
  }
};

template <class Format>
constexpr FormatCodec block_codec() noexcept {
  using Rows = BlockRows<Format>;
  return {Format::dtype, &Rows::decode_row, &Rows::check_row, Format::max_abs, &Rows::encode};
}

/// The largest f32 that still rounds to a finite f16.
inline constexpr float kHalfLimit = 65519.99609375f;

/// 1/d for quantising with scale d: 0 when the reciprocal is not finite, and then the block is a zero block.
inline float reciprocal_or_zero(float d) noexcept {
  if (d == 0.0f) return 0.0f;
  const float r = 1.0f / d;
  return float_is_finite(r) ? r : 0.0f;
}

/// Nearest integer, halves away from zero; |v| < 2^31. (v + 0.5 would round 0.49999997 up.)
inline int round_half_away(float v) noexcept {
  const int whole = static_cast<int>(v);
  const float rest = v - static_cast<float>(whole);
  return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
}

}  // namespace nibblas::formats
