// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace nibblas::gguf {

/// One of ggml's tensor types. A block_elems of 0 says that the size cannot be known from the id: the type was dropped
/// before GGUF existed, or two projects gave the same id to different layouts.
struct TypeInfo {
  std::string_view name;
  std::uint32_t block_elems = 0;
  std::uint32_t block_bytes = 0;
};

/// Every id that ggml gave out, those it took back included; the index is the id. Names stay within 15 characters, so
/// that a std::string of one allocates nothing.
inline constexpr std::array<TypeInfo, 43> kTypes{{
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"q4_0", 32, 18},
    {"q4_1", 32, 20},
    {"q4_2"},
    {"q4_3"},
    {"q5_0", 32, 22},
    {"q5_1", 32, 24},
    {"q8_0", 32, 34},
    {"q8_1", 32, 36},
    {"q2_k", 256, 84},
    {"q3_k", 256, 110},
    {"q4_k", 256, 144},
    {"q5_k", 256, 176},
    {"q6_k", 256, 210},
    {"q8_k", 256, 292},
    {"iq2_xxs", 256, 66},
    {"iq2_xs", 256, 74},
    {"iq3_xxs", 256, 98},
    {"iq1_s", 256, 50},
    {"iq4_nl", 32, 18},
    {"iq3_s", 256, 110},
    {"iq2_s", 256, 82},
    {"iq4_xs", 256, 136},
    {"i8", 1, 1},
    {"i16", 1, 2},
    {"i32", 1, 4},
    {"i64", 1, 8},
    {"f64", 1, 8},
    {"iq1_m", 256, 56},
    {"bf16", 1, 2},
    {"q4_0_4_4", 32, 18},
    {"q4_0_4_8", 32, 18},
    {"q4_0_8_8", 32, 18},
    {"tq1_0", 256, 54},
    {"tq2_0", 256, 66},
    {"i2_s/iq4_nl_4_4"},  // BitNet.cpp's ternary, and for a while ggml's interleaved iq4_nl
    {"iq4_nl_4_8", 32, 18},
    {"iq4_nl_8_8", 32, 18},
    {"mxfp4", 32, 17},
    {"nvfp4", 64, 36},
    {"q1_0", 128, 18},
    {"q2_0"},  // 64 codes in 18 bytes in ggml, 128 in 34 in the files of the project that had the id first
}};
inline constexpr std::uint32_t kTypeI2s = 36;

/// Null for an id that ggml has not given out.
constexpr const TypeInfo* find_type(std::uint32_t id) noexcept { return id < kTypes.size() ? &kTypes[id] : nullptr; }

constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

/// Elements of a tensor, 1 for no dimensions. Nothing when the dimensions, zeros left out, multiply to 2^63 or more:
/// then some partial product in a reader of strides overflows even if the whole is empty.
constexpr std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> ne) noexcept {
  constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
  std::uint64_t product = 1;
  bool empty = false;
  for (const std::uint64_t n : ne) {
    empty = empty || n == 0;
    if (n == 0) continue;
    const auto next = checked_mul(product, n);
    if (!next || *next > limit) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

}  // namespace nibblas::gguf
