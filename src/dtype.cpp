// SPDX-License-Identifier: Apache-2.0
#include "nibblas/dtype.hpp"

namespace nibblas {

std::optional<DType> dtype_from_string(std::string_view name) noexcept {
  for (const DTypeInfo& i : kDTypes) {
    if (i.name == name) return i.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_ggml(std::uint32_t id) noexcept {
  for (const DTypeInfo& i : kDTypes) {
    if (i.ggml_id >= 0 && static_cast<std::uint32_t>(i.ggml_id) == id) return i.dtype;
  }
  return std::nullopt;
}

std::optional<Compute> compute_from_string(std::string_view name) noexcept {
  for (const Compute c : {Compute::f32, Compute::int8, Compute::int8_token, Compute::automatic}) {
    if (to_string(c) == name) return c;
  }
  return std::nullopt;
}

}  // namespace nibblas
