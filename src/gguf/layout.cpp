// SPDX-License-Identifier: Apache-2.0
#include "gguf/layout.hpp"

#include <algorithm>
#include <vector>

#include "ascii.hpp"
#include "gguf/types.hpp"

namespace nibblas::gguf {
namespace {

/// Where a tensor lies in the data section. `bytes` is 0 for an empty tensor, 1 for one of unknown size until its
/// neighbour is known.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::size_t tensor = 0;
  bool open_ended = false;
};

std::string shape_of(const Tensor& tensor) {
  std::string text = "[";
  for (std::size_t i = 0; i < tensor.ne.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(tensor.ne[i]);
  return text + "]";
}

Result<Extent> extent_of(const Tensor& tensor, std::uint64_t offset, std::uint64_t section) {
  Extent extent{offset, 0, 0, false};
  const TypeInfo* type = find_type(tensor.type);
  if (type == nullptr || type->block_elems == 0) {
    const auto elements = element_count(tensor.ne);
    if (!elements) {
      return Status(StatusCode::invalid_data,
                    "the shape " + shape_of(tensor) + " of tensor " + quoted(tensor.name) + " overflows");
    }
    extent.open_ended = *elements != 0;
    extent.bytes = extent.open_ended ? 1 : 0;
  } else {
    auto bytes = tensor_bytes(tensor);
    if (!bytes) return bytes.status();
    extent.bytes = *bytes;
  }
  if (offset > section || extent.bytes > section - offset) {
    return Status(StatusCode::invalid_data, "tensor " + quoted(tensor.name) + " (" + std::to_string(extent.bytes) +
                                                " bytes at offset " + std::to_string(offset) + ") leaves the " +
                                                std::to_string(section) + " bytes of data in the file");
  }
  return extent;
}

}  // namespace

std::string quoted(std::string_view name) {
  constexpr std::size_t limit = 64;
  std::string text = "'";
  for (const char c : name.substr(0, limit)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (name.size() > limit ? "...'" : "'");
}

std::string quoted_path(std::string_view path) {
  constexpr std::size_t limit = 1024;
  return text("'", shown(path, limit), "'");
}

Result<std::uint64_t> tensor_bytes(const Tensor& tensor) {
  const TypeInfo& type = kTypes[tensor.type];
  const std::uint64_t K = tensor.ne.empty() ? 1 : tensor.ne[0];
  if (K % type.block_elems != 0) {
    return Status(StatusCode::invalid_data, "rows of " + std::to_string(K) + " elements of tensor " +
                                                quoted(tensor.name) + " are no whole blocks of " +
                                                std::string(type.name) + " (" + std::to_string(type.block_elems) + ")");
  }
  const auto elements = element_count(tensor.ne);
  const auto bytes = elements ? checked_mul(*elements / type.block_elems, type.block_bytes) : std::nullopt;
  if (!bytes) {
    return Status(StatusCode::invalid_data,
                  "the shape " + shape_of(tensor) + " of tensor " + quoted(tensor.name) + " overflows");
  }
  return *bytes;
}

Status place_tensors(std::span<Tensor> tensors, std::span<const std::uint64_t> offsets,
                     std::span<const std::byte> section) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto extent = extent_of(tensors[i], offsets[i], section.size());
    if (!extent) return extent.status();
    extent->tensor = i;
    if (extent->bytes != 0) extents.push_back(*extent);
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Extent& extent = extents[i];
    Tensor& tensor = tensors[extent.tensor];
    const std::uint64_t next = i + 1 < extents.size() ? extents[i + 1].offset : section.size();
    if (extent.bytes > next - extent.offset) {
      return {StatusCode::invalid_data, "tensors " + quoted(tensor.name) + " and " +
                                            quoted(tensors[extents[i + 1].tensor].name) + " overlap at offset " +
                                            std::to_string(next)};
    }
    if (extent.open_ended) extent.bytes = next - extent.offset;
    tensor.data = section.subspan(static_cast<std::size_t>(extent.offset), static_cast<std::size_t>(extent.bytes));
  }
  return {};
}

}  // namespace nibblas::gguf
