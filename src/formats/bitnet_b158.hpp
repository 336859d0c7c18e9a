// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "formats/codec.hpp"

namespace nibblas::formats {

/// bitnet_b158: a whole tensor, w = scale * (code - 1), codes 0..2; a 3 is corrupt and decodes as +2.
///
///   byte  0                                ceil(N*K/4)    +4
///         | bits 2(i % 4) of byte i / 4:       |   scale   |
///         | element i = row * K + k            |    f32    |
///
/// Nothing is aligned: a row begins inside a byte when K % 4 != 0. N*K and the size of the whole do not overflow, which
/// check_view has seen to. A tensor without elements has no bytes to read, and the scale 0.
struct BitnetB158 {
  static constexpr std::size_t code_bytes(std::size_t elements) noexcept {
    return elements / 4 + (elements % 4 != 0 ? 1 : 0);
  }

  static float scale(const WeightView& w) noexcept {
    const std::size_t elements = w.N * w.K;
    if (elements == 0) return 0.0f;
    float value;
    std::memcpy(&value, w.data + code_bytes(elements), sizeof value);
    return value;
  }

  /// The code of element `index` = row * K + k.
  static unsigned code(const WeightView& w, std::size_t index) noexcept {
    return (std::to_integer<unsigned>(w.data[index / 4]) >> (2 * (index % 4))) & 3u;
  }

  static void decode_row(const WeightView& w, std::size_t row, float* out) noexcept {
    const float s = scale(w);
    for (std::size_t k = 0; k < w.K; ++k) {
      out[k] = static_cast<float>(static_cast<int>(code(w, row * w.K + k)) - 1) * s;
    }
  }

  static Fault check_row(const WeightView& w, std::size_t row) noexcept {
    const float s = scale(w);
    if (!float_is_finite(s)) return {Fault::Kind::scale, "scale", s, 0};
    for (std::size_t k = 0; k < w.K; ++k) {
      if (code(w, row * w.K + k) == 3) return {Fault::Kind::code, "", 0, k};
    }
    return {};
  }

  /// scale = mean |x|; codes by x / scale, ties to even as in BitNet's own code.
  static void encode(const ConstMatrixView& x, std::byte* out) noexcept {
    const std::size_t elements = x.rows * x.cols;
    double sum = 0.0;
    for (std::size_t row = 0; row < x.rows; ++row) {
      for (std::size_t k = 0; k < x.cols; ++k) sum += std::fabs(static_cast<double>(x.data[row * x.stride + k]));
    }
    const auto s = static_cast<float>(elements != 0 ? sum / static_cast<double>(elements) : 0.0);

    unsigned bits = 0;
    std::size_t i = 0;
    for (std::size_t row = 0; row < x.rows; ++row) {
      for (std::size_t k = 0; k < x.cols; ++k, ++i) {
        bits |= encode_code(x.data[row * x.stride + k], s) << (2 * (i % 4));
        if (i % 4 == 3 || i + 1 == elements) {
          out[i / 4] = static_cast<std::byte>(bits);
          bits = 0;
        }
      }
    }
    std::memcpy(out + code_bytes(elements), &s, sizeof s);
  }

 private:
  /// |x / s| > 1/2, on doubles, where twice an f32 is exact.
  static unsigned encode_code(float x, float s) noexcept {
    if (s == 0.0f || 2.0 * std::fabs(static_cast<double>(x)) <= static_cast<double>(s)) return 1;
    return x < 0.0f ? 0 : 2;
  }
};

constexpr FormatCodec bitnet_codec() noexcept {
  return {DType::bitnet_b158, &BitnetB158::decode_row, &BitnetB158::check_row, std::numeric_limits<float>::max(),
          &BitnetB158::encode};
}

}  // namespace nibblas::formats
