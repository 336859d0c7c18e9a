// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace nibblas::formats {

/// The 6-bit scales and minimums of q4_k's and q5_k's eight sub-blocks, in 12 bytes:
///
///   byte 0..3   sc[0..3] in bits 0-5, the top two bits of sc[4..7] in bits 6-7
///   byte 4..7   m[0..3]  in bits 0-5, the top two bits of m[4..7]  in bits 6-7
///   byte 8..11  the low four bits of sc[4..7], then of m[4..7]
struct KScales {
  std::uint8_t sc[8];
  std::uint8_t m[8];
};

inline KScales unpack_scales(const std::uint8_t (&packed)[12]) noexcept {
  KScales s;
  for (std::size_t i = 0; i < 4; ++i) {
    const unsigned a = packed[i];
    const unsigned b = packed[4 + i];
    const unsigned low = packed[8 + i];
    s.sc[i] = a & 63u;
    s.m[i] = b & 63u;
    s.sc[4 + i] = static_cast<std::uint8_t>((low & 15u) | ((a >> 6) << 4));
    s.m[4 + i] = static_cast<std::uint8_t>((low >> 4) | ((b >> 6) << 4));
  }
  return s;
}

inline void pack_scales(const KScales& s, std::uint8_t (&packed)[12]) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    packed[i] = static_cast<std::uint8_t>(s.sc[i] | ((s.sc[4 + i] >> 4) << 6));
    packed[4 + i] = static_cast<std::uint8_t>(s.m[i] | ((s.m[4 + i] >> 4) << 6));
    packed[8 + i] = static_cast<std::uint8_t>((s.sc[4 + i] & 15) | ((s.m[4 + i] & 15) << 4));
  }
}

}  // namespace nibblas::formats
