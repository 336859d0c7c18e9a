// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gguf/cursor.hpp"
#include "nibblas/gguf.hpp"
#include "nibblas/status.hpp"

namespace nibblas::gguf {

/// What a file holds. The by-name indices list every position of `tensors` and `metadata` in the order of the names.
struct Contents {
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;
  std::vector<Tensor> tensors;
  std::vector<KeyValue> metadata;
  std::vector<std::size_t> tensors_by_name;
  std::vector<std::size_t> metadata_by_key;
};

/// One pass over one file. Memory stays proportional to the bytes already read: no count in the file is believed before
/// the elements it announces were seen. Throws bad_alloc and nothing else.
class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) noexcept : bytes_(bytes), in_(bytes) {}

  Result<Contents> parse();

 private:
  Status header();
  Status key_values();
  Status key_value(KeyValue& kv, std::string_view& key);
  Status scalar(std::uint32_t type, Value& value);
  Status array(std::uint64_t& length, int depth);
  Status elements(std::uint32_t type, std::uint64_t length, int depth);
  Status alignment();
  Status tensor_infos();
  Status tensor_info(Tensor& tensor, std::string_view& name, std::uint64_t& offset);
  Status place_tensors();

  Status truncated(std::string_view what) const;

  std::span<const std::byte> bytes_;
  Cursor in_;
  Contents contents_;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t kv_count_ = 0;
  std::vector<std::uint64_t> offsets_;  ///< of each tensor, from the start of the data
};

}  // namespace nibblas::gguf
