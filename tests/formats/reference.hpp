// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "nibblas/dtype.hpp"

// The formats once more, in double and element by element, written from docs/formats.md and sharing nothing with the
// library. All products are exact in double, so the library's f32 must be this value rounded once.

namespace nibblas::test {

inline double reference_half(unsigned h) {
  const double sign = (h & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((h >> 10) & 31u);
  const int mantissa = static_cast<int>(h & 1023u);
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline double reference_half_at(const std::uint8_t* p) { return reference_half(p[0] + 256u * p[1]); }

inline int reference_k_scale(const std::uint8_t* scales, std::size_t s) {
  if (s < 4) return scales[s] & 63;
  return (scales[s + 4] & 15) | ((scales[s - 4] >> 6) << 4);
}

inline int reference_k_min(const std::uint8_t* scales, std::size_t s) {
  if (s < 4) return scales[s + 4] & 63;
  return (scales[s + 4] >> 4) | ((scales[s] >> 6) << 4);
}

inline double reference_k(const std::uint8_t* b, std::size_t e, bool fifth_bit) {
  const std::size_t s = e / 32;
  const std::size_t l = e % 32;
  const std::uint8_t* qs = b + (fifth_bit ? 48 : 16) + 32 * (s / 2);
  int q = s % 2 == 0 ? qs[l] % 16 : qs[l] / 16;
  if (fifth_bit && ((b[16 + l] >> s) & 1) != 0) q += 16;
  return reference_half_at(b) * reference_k_scale(b + 4, s) * q - reference_half_at(b + 2) * reference_k_min(b + 4, s);
}

inline double reference_q6_k(const std::uint8_t* b, std::size_t e) {
  const std::uint8_t* ql = b + 64 * (e / 128);
  const std::uint8_t* qh = b + 128 + 32 * (e / 128);
  const std::size_t in_half = e % 128;
  const std::size_t l = in_half % 32;
  int q = 0;
  switch (in_half / 32) {
    case 0:
      q = (ql[l] & 15) | ((qh[l] & 3) << 4);
      break;
    case 1:
      q = (ql[l + 32] & 15) | (((qh[l] >> 2) & 3) << 4);
      break;
    case 2:
      q = (ql[l] >> 4) | (((qh[l] >> 4) & 3) << 4);
      break;
    default:
      q = (ql[l + 32] >> 4) | (((qh[l] >> 6) & 3) << 4);
  }
  const int raw = b[192 + 8 * (e / 128) + in_half / 16];
  return reference_half_at(b + 208) * (raw < 128 ? raw : raw - 256) * (q - 32);
}

inline double reference_tq1_0(const std::uint8_t* b, std::size_t e) {
  std::size_t byte = 0;
  std::size_t digit = 0;
  if (e < 160) {
    byte = e % 32;
    digit = e / 32;
  } else if (e < 240) {
    byte = 32 + (e - 160) % 16;
    digit = (e - 160) / 16;
  } else {
    byte = 48 + (e - 240) % 4;
    digit = (e - 240) / 4;
  }
  unsigned v = b[byte];
  for (std::size_t n = 0; n < digit; ++n) v = v * 3 % 256;
  return (static_cast<int>(v * 3 / 256) - 1) * reference_half_at(b + 52);
}

inline double reference_tq2_0(const std::uint8_t* b, std::size_t e) {
  for (std::size_t j = 0; j <= 32; j += 32) {
    for (std::size_t m = 0; m < 32; ++m) {
      for (std::size_t l = 0; l < 4; ++l) {
        if (4 * j + 32 * l + m == e) return (((b[j + m] >> (2 * l)) & 3) - 1) * reference_half_at(b + 64);
      }
    }
  }
  throw std::logic_error("tq2_0 element");
}

/// Element e of one block.
inline double reference_decode(DType dtype, const std::uint8_t* b, std::size_t e) {
  switch (dtype) {
    case DType::f16:
      return reference_half_at(b);
    case DType::q8_0:
      return (b[2 + e] < 128 ? b[2 + e] : b[2 + e] - 256) * reference_half_at(b);
    case DType::q4_0:
      return ((e < 16 ? b[2 + e] % 16 : b[2 + e - 16] / 16) - 8) * reference_half_at(b);
    case DType::q4_k:
      return reference_k(b, e, false);
    case DType::q5_k:
      return reference_k(b, e, true);
    case DType::q6_k:
      return reference_q6_k(b, e);
    case DType::tq1_0:
      return reference_tq1_0(b, e);
    case DType::tq2_0:
      return reference_tq2_0(b, e);
    default:
      throw std::logic_error("no reference for this format");
  }
}

}  // namespace nibblas::test
