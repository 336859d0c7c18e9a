// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace nibblas::test {

/// Appends the parts of a GGUF file byte by byte, right or wrong ones alike: nothing is checked or counted.
class GgufBuilder {
 public:
  enum Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

  GgufBuilder& header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    for (const char c : std::string_view("GGUF")) bytes_.push_back(static_cast<std::byte>(c));
    return word(version).quad(tensors).quad(keys);
  }
  GgufBuilder& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
    return *this;
  }
  GgufBuilder& byte(std::uint64_t value) { return number(value, 1); }
  GgufBuilder& half(std::uint64_t value) { return number(value, 2); }
  GgufBuilder& word(std::uint64_t value) { return number(value, 4); }
  GgufBuilder& quad(std::uint64_t value) { return number(value, 8); }
  GgufBuilder& text(std::string_view s) {
    quad(s.size());
    for (const char c : s) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }

  GgufBuilder& key(std::string_view name, std::uint32_t type) { return text(name).word(type); }
  GgufBuilder& alignment(std::uint64_t value) { return key("general.alignment", u32).word(value); }
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& ne, std::uint32_t type,
                      std::uint64_t offset) {
    text(name).word(ne.size());
    for (const std::uint64_t n : ne) quad(n);
    return word(type).quad(offset);
  }
  GgufBuilder& pad(std::size_t alignment = 32) {
    while (bytes_.size() % alignment != 0) byte(0);
    return *this;
  }
  /// Bytes that count up, so that a span at a wrong place shows.
  GgufBuilder& data(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) byte(i * 7 + 3);
    return *this;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace nibblas::test
