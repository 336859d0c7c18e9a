// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibblas/cpu.hpp"

// The operations of one instruction set as plain functions on arrays, so that a baseline test can call them. Arrays
// hold `lanes` elements unless something else is said.

namespace nibblas::test {

struct Sums {
  std::int32_t low;
  std::int32_t high;
};

struct IsaOperations {
  const char* name;
  CpuFeatures needs;
  std::size_t lanes;
  int signed_offset;
  void (*fma)(const float* a, const float* b, const float* c, float* out) noexcept;
  void (*fnma)(const float* a, const float* b, const float* c, float* out) noexcept;
  void (*load_f16)(const std::byte* halves, float* out) noexcept;
  void (*load_bf16)(const std::byte* halves, float* out) noexcept;
  /// Scales of a panel's rows, a byte each; those of a column.
  void (*load_u8)(const std::byte* rows, std::size_t column, float* out) noexcept;
  void (*load_s8)(const std::byte* rows, std::size_t column, float* out) noexcept;
  /// 16-bit lanes of lanes * 4 bytes.
  void (*shift_right16_by)(const std::byte* words, int n, std::byte* out) noexcept;
  /// The dot of 32 codes of each lane, w[8][lanes][4], with x[32], plus bias. By largest code: 15, 31, 63, signed.
  void (*dots[4])(const std::byte* w, const std::byte* x, std::int32_t bias, float* out) noexcept;
  /// The dots of signed codes w[8][lanes][4] with two tokens' x[32], where the instruction set has a way of its own for
  /// that; else null.
  void (*pair_dots)(const std::byte* w, const std::byte* const (&x)[2], float* const (&out)[2]) noexcept;
  /// The floats of 4 codes a lane, w[lanes][4] -> out[4][lanes]: low nibbles - 8, high nibbles, bytes - 32 (at most
  /// 63), and the bytes from_signed() makes of signed ones - signed_offset.
  void (*floats[4])(const std::byte* w, float* out) noexcept;
  bool (*amax32)(const float* x, float* amax) noexcept;
  Sums (*codes32)(const float* x, float id, std::int8_t* codes) noexcept;
  void (*words4)(const std::byte* src, std::size_t stride, std::byte* out) noexcept;
  void (*halves)(const std::byte* words, std::byte* out) noexcept;
  void (*bytes)(const std::byte* words, std::byte* out) noexcept;
};

}  // namespace nibblas::test
