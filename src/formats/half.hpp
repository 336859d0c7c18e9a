// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

// Conversions on integers only: right in any rounding mode, FTZ and DAZ included. Always inlined, so that a translation
// unit with instruction-set flags shares no copy of them with a baseline one.

namespace nibblas::formats {

/// IEEE binary16 to f32, exact; a NaN keeps its payload and becomes quiet.
[[gnu::always_inline]] constexpr float half_to_float(std::uint16_t h) noexcept {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16;
  const std::uint32_t exponent = (h >> 10) & 31u;
  std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  if (mantissa == 0) return std::bit_cast<float>(sign);
  // A subnormal is mantissa * 2^-24; f32 has room to normalise it.
  const auto shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21u;
  mantissa = (mantissa << shift) & 0x3ffu;
  return std::bit_cast<float>(sign | ((113u - shift) << 23) | (mantissa << 13));
}

/// f32 to IEEE binary16, nearest even, Inf from 65520 on; a NaN keeps the top of its payload and becomes quiet.
[[gnu::always_inline]] constexpr std::uint16_t float_to_half(float f) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t a = bits & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x3ffu));
  if (a >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (a >= 0x38800000u) {
    const std::uint32_t rounded = a + 0xfffu + ((a >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
  // Below 2^-14 a unit is 2^-24: shift the mantissa down to it, rounding on the bits that fall out.
  if (a <= 0x33000000u) return static_cast<std::uint16_t>(sign);
  const std::uint32_t shift = 126u - (a >> 23);
  const std::uint32_t mantissa = (a & 0x7fffffu) | 0x800000u;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
  const std::uint32_t half = 1u << (shift - 1u);
  const std::uint32_t up = rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u;
  return static_cast<std::uint16_t>(sign | (kept + up));
}

/// bfloat16 is the upper half of an f32: every pattern, NaN payloads included, passes unchanged.
[[gnu::always_inline]] constexpr float brain_to_float(std::uint16_t h) noexcept {
  return std::bit_cast<float>(std::uint32_t{h} << 16);
}

/// f32 to bfloat16, nearest even; a NaN keeps the top of its payload and becomes quiet.
[[gnu::always_inline]] constexpr std::uint16_t float_to_brain(float f) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Neither NaN nor Inf, decided on the bits.
[[gnu::always_inline]] constexpr bool half_is_finite(std::uint16_t h) noexcept { return (h & 0x7c00u) != 0x7c00u; }
[[gnu::always_inline]] constexpr bool float_is_finite(float f) noexcept {
  return (std::bit_cast<std::uint32_t>(f) & 0x7f800000u) != 0x7f800000u;
}

}  // namespace nibblas::formats
