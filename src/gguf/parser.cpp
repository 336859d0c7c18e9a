// SPDX-License-Identifier: Apache-2.0
#include "gguf/parser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "gguf/layout.hpp"
#include "gguf/types.hpp"

namespace nibblas::gguf {
namespace {

enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array_of, u64, i64, f64 };
constexpr std::uint32_t kValueTypes = 13;

/// The fewest bytes a value of each type takes; its exact size for all but strings and arrays.
constexpr std::array<std::uint64_t, kValueTypes> kValueBytes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

// The fewest bytes of a key-value pair (empty key, one-byte value) and of a tensor info (empty name, no dimensions).
constexpr std::uint64_t kMinKeyValueBytes = 8 + 4 + 1;
constexpr std::uint64_t kMinTensorInfoBytes = 8 + 4 + 4 + 8;

constexpr int kMaxArrayDepth = 4;
constexpr std::uint32_t kMaxDims = 4;  // as ggml
constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 20;

/// Positions by name. A tree, so that a name which is there already is seen at once, whatever names a file is made of;
/// the names stay in the file.
class NameIndex {
 public:
  /// False when the name was there.
  bool add(std::string_view name, std::size_t position) { return positions_.emplace(name, position).second; }
  /// In the order of the names.
  std::vector<std::size_t> positions() const {
    std::vector<std::size_t> list;
    list.reserve(positions_.size());
    for (const auto& [name, position] : positions_) list.push_back(position);
    return list;
  }

 private:
  std::map<std::string_view, std::size_t> positions_;
};

Status invalid(std::uint64_t position, const std::string& what) {
  return {StatusCode::invalid_data, "at byte " + std::to_string(position) + ": " + what};
}

}  // namespace

Status Parser::truncated(std::string_view what) const {
  return invalid(in_.position(), "the file ends inside " + std::string(what));
}

Result<Contents> Parser::parse() {
  if (Status s = header(); !s) return s;
  if (Status s = key_values(); !s) return s;
  if (Status s = alignment(); !s) return s;
  if (Status s = tensor_infos(); !s) return s;
  if (Status s = place_tensors(); !s) return s;
  return std::move(contents_);
}

Status Parser::header() {
  constexpr std::uint32_t magic = 0x46554747;  // "GGUF"
  std::uint32_t word = 0;
  if (!in_.read(word)) return truncated("the magic number");
  if (word != magic) return invalid(0, "not a GGUF file");
  std::uint32_t& version = contents_.version;
  if (!in_.read(version)) return truncated("the version");
  if (version != 2 && version != 3) {
    // A big-endian writer's small number has its one non-zero byte at the far end.
    if (version != 0 && (version & 0xffff) == 0) {
      return {StatusCode::unsupported, "a big-endian GGUF file; nibblas reads little-endian ones"};
    }
    return {StatusCode::unsupported, "GGUF version " + std::to_string(version) + "; nibblas reads 2 and 3"};
  }
  if (!in_.read(tensor_count_) || !in_.read(kv_count_)) return truncated("the header");
  if (tensor_count_ > in_.remaining() / kMinTensorInfoBytes) {
    return invalid(8, std::to_string(tensor_count_) + " tensors do not fit in the file");
  }
  if (kv_count_ > in_.remaining() / kMinKeyValueBytes) {
    return invalid(16, std::to_string(kv_count_) + " metadata entries do not fit in the file");
  }
  return {};
}

Status Parser::key_values() {
  auto& metadata = contents_.metadata;
  NameIndex keys;
  for (std::uint64_t i = 0; i < kv_count_; ++i) {
    KeyValue kv;
    std::string_view key;
    if (Status s = key_value(kv, key); !s) return s;
    if (!keys.add(key, metadata.size())) {
      return {StatusCode::invalid_data, "the metadata key " + quoted(key) + " appears twice"};
    }
    metadata.push_back(std::move(kv));
  }
  contents_.metadata_by_key = keys.positions();
  return {};
}

Status Parser::key_value(KeyValue& kv, std::string_view& key) {
  if (!in_.read_string(key)) return truncated("a metadata key");
  kv.key = key;
  std::uint32_t type = 0;
  if (!in_.read(type)) return truncated("the type of metadata " + quoted(key));
  if (type == array_of) {
    kv.is_array = true;
    return array(kv.array_length, 1);
  }
  return scalar(type, kv.value);
}

Status Parser::scalar(std::uint32_t type, Value& value) {
  const auto number = [&]<class Raw, class Convert>(Raw raw, Convert convert) -> Status {
    if (!in_.read(raw)) return truncated("a metadata value");
    value = convert(raw);
    return {};
  };
  const auto unsigned_of = [](auto raw) { return std::uint64_t{raw}; };
  switch (type) {
    case u8:
      return number(std::uint8_t{}, unsigned_of);
    case u16:
      return number(std::uint16_t{}, unsigned_of);
    case u32:
      return number(std::uint32_t{}, unsigned_of);
    case u64:
      return number(std::uint64_t{}, unsigned_of);
    case i8:
      return number(std::uint8_t{}, [](std::uint8_t raw) { return std::int64_t{static_cast<std::int8_t>(raw)}; });
    case i16:
      return number(std::uint16_t{}, [](std::uint16_t raw) { return std::int64_t{static_cast<std::int16_t>(raw)}; });
    case i32:
      return number(std::uint32_t{}, [](std::uint32_t raw) { return std::int64_t{static_cast<std::int32_t>(raw)}; });
    case i64:
      return number(std::uint64_t{}, [](std::uint64_t raw) { return static_cast<std::int64_t>(raw); });
    case f32:
      return number(std::uint32_t{}, [](std::uint32_t raw) { return double{std::bit_cast<float>(raw)}; });
    case f64:
      return number(std::uint64_t{}, [](std::uint64_t raw) { return std::bit_cast<double>(raw); });
    case boolean: {
      const std::uint64_t position = in_.position();
      std::uint8_t raw = 0;
      if (!in_.read(raw)) return truncated("a metadata value");
      if (raw > 1) return invalid(position, std::to_string(raw) + " is not a bool");
      value = raw == 1;
      return {};
    }
    case string: {
      std::string_view text;
      if (!in_.read_string(text)) return truncated("a metadata string");
      value = std::string(text);
      return {};
    }
    default:
      return invalid(in_.position() - 4, "metadata type " + std::to_string(type) + " is unknown");
  }
}

Status Parser::array(std::uint64_t& length, int depth) {
  const std::uint64_t position = in_.position();
  if (depth > kMaxArrayDepth) {
    return invalid(position, "arrays nested deeper than " + std::to_string(kMaxArrayDepth));
  }
  std::uint32_t type = 0;
  if (!in_.read(type) || !in_.read(length)) return truncated("an array header");
  if (type >= kValueTypes) return invalid(position, "array element type " + std::to_string(type) + " is unknown");
  if (length > in_.remaining() / kValueBytes[type]) {
    return invalid(position, "an array of " + std::to_string(length) + " elements does not fit in the file");
  }
  return elements(type, length, depth);
}

Status Parser::elements(std::uint32_t type, std::uint64_t length, int depth) {
  if (type == boolean || type == string || type == array_of) {
    for (std::uint64_t i = 0; i < length; ++i) {
      std::string_view text;
      std::uint64_t inner = 0;
      Value flag;
      if (type == string && !in_.read_string(text)) return truncated("an array of strings");
      if (type == array_of) {
        if (Status s = array(inner, depth + 1); !s) return s;
      }
      if (type == boolean) {
        if (Status s = scalar(type, flag); !s) return s;
      }
    }
    return {};
  }
  return in_.skip(length * kValueBytes[type]) ? Status() : truncated("an array");
}

Status Parser::alignment() {
  constexpr std::string_view key = "general.alignment";
  const auto found = std::find_if(contents_.metadata.begin(), contents_.metadata.end(),
                                  [&](const KeyValue& kv) { return kv.key == key; });
  if (found == contents_.metadata.end()) return {};
  const auto* value = std::get_if<std::uint64_t>(&found->value);
  if (found->is_array || value == nullptr) {
    return {StatusCode::invalid_data, std::string(key) + " is not an unsigned integer"};
  }
  if (!std::has_single_bit(*value) || *value > kMaxAlignment) {
    return {StatusCode::invalid_data,
            std::string(key) + " is " + std::to_string(*value) + ", not a power of two up to 1 MiB"};
  }
  contents_.alignment = *value;
  return {};
}

Status Parser::tensor_infos() {
  auto& tensors = contents_.tensors;
  NameIndex names;
  for (std::uint64_t i = 0; i < tensor_count_; ++i) {
    Tensor tensor;
    std::string_view name;
    std::uint64_t offset = 0;
    if (Status s = tensor_info(tensor, name, offset); !s) return s;
    if (!names.add(name, tensors.size())) {
      return {StatusCode::invalid_data, "the tensor name " + quoted(name) + " appears twice"};
    }
    tensors.push_back(std::move(tensor));
    offsets_.push_back(offset);
  }
  contents_.tensors_by_name = names.positions();
  return {};
}

Status Parser::tensor_info(Tensor& tensor, std::string_view& name, std::uint64_t& offset) {
  if (!in_.read_string(name)) return truncated("a tensor name");
  tensor.name = name;
  const std::uint64_t position = in_.position();
  std::uint32_t dims = 0;
  if (!in_.read(dims)) return truncated("tensor " + quoted(name));
  if (dims > kMaxDims) {
    return invalid(position, "tensor " + quoted(name) + " has " + std::to_string(dims) + " dimensions, more than 4");
  }
  tensor.ne.resize(dims);
  for (std::uint64_t& n : tensor.ne) {
    if (!in_.read(n)) return truncated("the dimensions of tensor " + quoted(name));
  }
  if (!in_.read(tensor.type) || !in_.read(offset)) return truncated("tensor " + quoted(name));
  if (offset % contents_.alignment != 0) {
    return invalid(in_.position() - 8, "the offset " + std::to_string(offset) + " of tensor " + quoted(name) +
                                           " is not a multiple of " + std::to_string(contents_.alignment));
  }
  return {};
}

Status Parser::place_tensors() {
  const std::uint64_t mask = contents_.alignment - 1;
  const std::uint64_t start = std::min<std::uint64_t>((in_.position() + mask) & ~mask, bytes_.size());
  return gguf::place_tensors(contents_.tensors, offsets_, bytes_.subspan(static_cast<std::size_t>(start)));
}

}  // namespace nibblas::gguf
