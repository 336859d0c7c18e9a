// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "nibblas/gguf.hpp"
#include "nibblas/status.hpp"

namespace nibblas::gguf {

/// A name from a file, fit for a message: in quotes, at most 64 bytes, anything but printable ASCII as '?'.
std::string quoted(std::string_view name);

/// A path, in quotes: of at most 1024 bytes, control characters as \xNN.
std::string quoted_path(std::string_view path);

/// Bytes of a tensor whose type has a known block size. Errors: invalid_data when the dimensions overflow or ne[0] is
/// no multiple of the block.
Result<std::uint64_t> tensor_bytes(const Tensor& tensor);

/// Sets every tensor's data, given its offset in the file's data section. A tensor of a type of unknown size gets all
/// bytes up to the next tensor. Errors: invalid_data for a tensor that leaves the section or overlaps another.
Status place_tensors(std::span<Tensor> tensors, std::span<const std::uint64_t> offsets,
                     std::span<const std::byte> section);

}  // namespace nibblas::gguf
