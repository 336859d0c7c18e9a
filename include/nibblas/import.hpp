// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nibblas/export.hpp"
#include "nibblas/status.hpp"

// Weights of other programs, turned once into a format of this library. i2_s (BitNet.cpp's GGUF type 36) has ternary
// codes in one of four orders that no byte of the file tells apart, so the caller names the order and becomes
// bitnet_b158 rows.

namespace nibblas {

/// Which element a pair of bits belongs to. Elements are counted through the rows: row * K + k.
enum class I2sLayout : std::uint8_t {
  group128,    ///< the converter and x86: byte j of 32 holds elements j, 32 + j, 64 + j, 96 + j from the high bits down
  group64,     ///< the quantiser for Arm: byte j of 16 holds elements j, 16 + j, 32 + j, 48 + j from the high bits down
  rows4,       ///< byte r * K + k holds element k of rows 4r .. 4r + 3 from the high bits down
  sequential,  ///< byte b holds elements 4b .. 4b + 3 from the low bits up, as bitnet_b158 does
};

enum class I2sScale : std::uint8_t {
  tail,       ///< w = (code - 1) * scale; f32, first of the 32 bytes after the codes
  companion,  ///< w = (code - 1) / scale; another tensor's value
};

/// An i2_s tensor of N x K weights.
struct I2sTensor {
  I2sLayout layout = I2sLayout::group128;
  I2sScale scale = I2sScale::tail;
  std::size_t N = 0;
  std::size_t K = 0;
  std::span<const std::byte> data;  ///< codes, then the tail if the scale is there; more bytes are not looked at
  float companion = 0;              ///< the scale, when it is not in the tail
};

/// Writes `tensor` to `out` as bitnet_b158: out.size() >= tensor_bytes(DType::bitnet_b158, N, K), sharing no memory
/// with tensor.data. A companion scale s is stored as 1 / s, rounded once. Errors, which leave out as it was:
/// invalid_argument (unknown layout or scale, companion 0, not finite or with a reciprocal that is not, shared memory);
/// shape_mismatch (group128, group64: N * K no multiple of 128, 64; rows4: N no multiple of 4; a size that overflows);
/// buffer_too_small; invalid_data naming row and element of a code 3, or a tail scale that is not finite.
NIBBLAS_API Status import_i2s(const I2sTensor& tensor, std::span<std::byte> out) noexcept;

}  // namespace nibblas
