// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "formats/k_scales.hpp"

// How the K-quants choose their scales: the least squared error that a bounded search over scales, minimums and codes
// finds. Elementwise f32 arithmetic in a fixed order, so every compiler finds the same bytes.

namespace nibblas::formats {

/// q4_k, q5_k: w = d * sc[s] * code - dmin * m[s] over eight sub-blocks s of 32.
struct AffineBlock {
  std::uint16_t d;
  std::uint16_t dmin;
  KScales scales;
  std::uint8_t codes[256];
};

/// q6_k: w = d * sc[s] * code over sixteen sub-blocks s of 16; codes -32..31.
struct SymmetricBlock {
  std::uint16_t d;
  std::int8_t sc[16];
  std::int8_t codes[256];
};

/// The largest |x| of the searches: a minimum, up to 63 * dmin, may have to hold it.
inline constexpr float kKQuantLimit = 63.0f * 65504.0f;

/// max_code: 15 for q4_k, 31 for q5_k. x: 256 values, |x| <= kKQuantLimit.
void search_affine(const float* x, int max_code, AffineBlock& out) noexcept;
void search_symmetric(const float* x, SymmetricBlock& out) noexcept;

}  // namespace nibblas::formats
