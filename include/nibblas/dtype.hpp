// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nibblas/export.hpp"

namespace nibblas {

/// The weight formats. Values are dense, so they index tables.
enum class DType : std::uint8_t { f32, f16, bf16, q8_0, q4_0, q4_k, q5_k, q6_k, tq1_0, tq2_0, bitnet_b158 };
inline constexpr std::size_t kDTypeCount = 11;

/// How a product is computed; see docs/numerics.md. `automatic` is the format's own default.
enum class Compute : std::uint8_t { f32, int8, int8_token, automatic };
inline constexpr std::size_t kComputeCount = 3;

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::int32_t ggml_id;       ///< -1: GGUF has no id for it
  std::uint32_t block_elems;  ///< K must be a multiple of this
  std::uint32_t block_bytes;  ///< bytes of one block (bitnet_b158: one byte holds 4 codes, see row_bytes)
  Compute default_compute;
  bool legal[kComputeCount];  ///< indexed by Compute
};

inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{{
    {DType::f32, "f32", 0, 1, 4, Compute::f32, {true, false, false}},
    {DType::f16, "f16", 1, 1, 2, Compute::f32, {true, false, false}},
    {DType::bf16, "bf16", 30, 1, 2, Compute::f32, {true, false, false}},
    {DType::q8_0, "q8_0", 8, 32, 34, Compute::int8, {true, true, false}},
    {DType::q4_0, "q4_0", 2, 32, 18, Compute::int8, {true, true, false}},
    {DType::q4_k, "q4_k", 12, 256, 144, Compute::int8, {true, true, false}},
    {DType::q5_k, "q5_k", 13, 256, 176, Compute::int8, {true, true, false}},
    {DType::q6_k, "q6_k", 14, 256, 210, Compute::int8, {true, true, false}},
    {DType::tq1_0, "tq1_0", 34, 256, 54, Compute::int8, {true, true, true}},
    {DType::tq2_0, "tq2_0", 35, 256, 66, Compute::int8, {true, true, true}},
    {DType::bitnet_b158, "bitnet_b158", -1, 1, 1, Compute::int8_token, {true, true, true}},
}};

constexpr const DTypeInfo& info(DType t) noexcept { return kDTypes[static_cast<std::size_t>(t)]; }
constexpr bool is_valid(DType t) noexcept { return static_cast<std::size_t>(t) < kDTypeCount; }
constexpr std::string_view to_string(DType t) noexcept { return is_valid(t) ? info(t).name : "invalid"; }

constexpr std::string_view to_string(Compute c) noexcept {
  constexpr std::string_view names[] = {"f32", "int8", "int8_token", "automatic"};
  return static_cast<std::size_t>(c) < 4 ? names[static_cast<std::size_t>(c)] : "invalid";
}

/// Is this pair promised by docs/numerics.md? False for `automatic` and for values outside the enums.
constexpr bool is_legal(DType t, Compute c) noexcept {
  return is_valid(t) && static_cast<std::size_t>(c) < kComputeCount && info(t).legal[static_cast<std::size_t>(c)];
}

constexpr Compute resolve_compute(DType t, Compute c) noexcept {
  return c == Compute::automatic && is_valid(t) ? info(t).default_compute : c;
}

NIBBLAS_API std::optional<DType> dtype_from_string(std::string_view name) noexcept;
NIBBLAS_API std::optional<DType> dtype_from_ggml(std::uint32_t id) noexcept;
NIBBLAS_API std::optional<Compute> compute_from_string(std::string_view name) noexcept;

}  // namespace nibblas
