// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formats/codec.hpp"
#include "formats/ternary.hpp"

namespace nibblas::formats {

/// tq1_0: 256 weights in 54 bytes, w = d * (digit - 1). Five base-3 digits a byte, digit 0 the most significant.
///
///   byte  0              32              48      52  54
///         | qs[0] ..     | qs[32] ..     | qh[4] | d |
///           digit n of     digit n of      digit n  f16
///           qs[m]:         qs[32 + m]:     of qh[j] (four used):
///           32n + m        160 + 16n + m   240 + 4n + j
///
/// A byte stands for the fraction v / 243 of its five-digit number v, as ceil(v * 256 / 243): times 3^n modulo 256 it
/// is the fraction behind the first n digits, and the integer part of three times that is digit n. Any byte decodes to
/// digits 0..2.
struct TQ1_0 {
  struct Block {
    std::uint8_t qs[48];
    std::uint8_t qh[4];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 54 && offsetof(Block, qh) == 48 && offsetof(Block, d) == 52);
  static constexpr DType dtype = DType::tq1_0;
  static constexpr float max_abs = kHalfLimit;

  static void decode(const Block& b, float* out) noexcept {
    const float d = half_to_float(b.d);
    const auto put = [&](const std::uint8_t* bytes, std::size_t count, std::size_t digits, float* to) {
      unsigned power = 1;
      for (std::size_t n = 0; n < digits; ++n, power *= 3) {
        for (std::size_t m = 0; m < count; ++m) {
          const unsigned digit = (((bytes[m] * power) & 255u) * 3u) >> 8;
          to[n * count + m] = static_cast<float>(static_cast<int>(digit) - 1) * d;
        }
      }
    };
    put(b.qs, 32, 5, out);
    put(b.qs + 32, 16, 5, out + 160);
    put(b.qh, 4, 4, out + 240);
  }

  static Fault check(const Block& b) noexcept { return check_scale("d", b.d); }

  static void encode(const float* x, Block& b) noexcept {
    const TernaryScale scale = ternary_scale(x);
    b.d = scale.d;
    const auto take = [&](const float* from, std::size_t count, std::size_t digits, std::uint8_t* bytes) {
      for (std::size_t m = 0; m < count; ++m) {
        unsigned v = 0;
        for (std::size_t n = 0; n < 5; ++n) v = v * 3 + (n < digits ? scale.code(from[n * count + m]) : 0);
        bytes[m] = static_cast<std::uint8_t>((v * 256 + 242) / 243);
      }
    };
    take(x, 32, 5, b.qs);
    take(x + 160, 16, 5, b.qs + 32);
    take(x + 240, 4, 4, b.qh);
  }
};

}  // namespace nibblas::formats
