// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nibblas/dtype.hpp"
#include "nibblas/export.hpp"
#include "nibblas/import.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

// GGUF files (versions 2 and 3), in the target nibblas::gguf.

namespace nibblas::gguf {

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> ne;  ///< ne[0] is the contiguous dimension: K of a weight
  std::uint32_t type = 0;         ///< ggml's id
  /// The tensor's bytes. For a type whose size is not known (type_name() "type 77", or an id that was given out twice)
  /// all that lies between its offset and the next tensor.
  std::span<const std::byte> data;

  /// "q4_k", "iq2_xxs", ... or "type 77": every id that ggml ever gave out has its name.
  NIBBLAS_API std::string type_name() const;
  /// The tensor as N x K weights: a 1-D one has N = 1, a scalar is 1 x 1; dimensions above the second are stacked as
  /// rows. Errors: unsupported, naming the type, for formats that nibblas does not have; invalid_data or
  /// buffer_too_small for a hand-made Tensor whose parts contradict each other.
  NIBBLAS_API Result<WeightView> weights() const;
};

using Value = std::variant<std::uint64_t, std::int64_t, double, bool, std::string>;

/// A metadata entry. Arrays keep their element count; their elements are checked, not stored, and `value` means
/// nothing.
struct KeyValue {
  std::string key;
  Value value;
  bool is_array = false;
  std::uint64_t array_length = 0;
};

/// An open file, mapped read-only. Every extent is checked against the file's size when it is opened, so the views stay
/// inside as long as nobody truncates the file. Tensors point into the mapping and live as long as the File.
class NIBBLAS_API File {
 public:
  /// Reads versions 2 and 3. A tensor of a type that nibblas lacks, or has never heard of, is listed like any other and
  /// only its weights() are refused. Errors: io_error (not a readable regular file), unsupported (another version, or
  /// big-endian), out_of_memory, and invalid_data, saying where, for everything that does not add up: anything that
  /// leaves the file, names or keys that appear twice, tensors that overlap, offsets off the alignment, an alignment
  /// that is no power of two up to 1 MiB, more than 4 dimensions, rows of broken blocks, arrays nested deeper than 4.
  static Result<File> open(const std::string& path) noexcept;
  /// The same on bytes in memory, which stay the caller's.
  static Result<File> parse(std::span<const std::byte> bytes) noexcept;

  /// What was moved from has version 0 and holds nothing.
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  ~File();

  std::uint32_t version() const noexcept;
  std::uint64_t alignment() const noexcept;
  const std::vector<Tensor>& tensors() const noexcept;
  const std::vector<KeyValue>& metadata() const noexcept;
  const Tensor* find(std::string_view name) const noexcept;
  const KeyValue* find_key(std::string_view key) const noexcept;

 private:
  struct Impl;
  const struct Contents& contents() const noexcept;
  explicit File(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// A tensor of type 36 as BitNet.cpp's i2_s, to be handed to import_i2s(). That the id means i2_s in this file, and
/// which layout and scale it has, is what the caller knows and no file says. I2sScale::companion is the f32 tensor
/// "<name>_scale" of one element. Errors: invalid_argument (a layout or scale outside its enum), unsupported (another
/// type, a companion of another type), not_found (no companion), invalid_data or buffer_too_small (a companion that is
/// not one element, a hand-made Tensor).
NIBBLAS_API Result<I2sTensor> i2s_tensor(const File& file, const Tensor& tensor, I2sLayout layout,
                                         I2sScale scale) noexcept;

}  // namespace nibblas::gguf
