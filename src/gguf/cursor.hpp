// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace nibblas::gguf {

/// Reads little-endian values one after the other from bytes that may end anywhere. A read that does not fit returns
/// false and moves nothing.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::uint64_t position() const noexcept { return pos_; }
  std::uint64_t remaining() const noexcept { return bytes_.size() - pos_; }

  /// An unsigned integer, at any address.
  template <class T>
  bool read(T& out) noexcept {
    if (remaining() < sizeof(T)) return false;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[pos_ + i]) << (8 * i);
    }
    out = static_cast<T>(value);
    pos_ += sizeof(T);
    return true;
  }

  /// A 64-bit length and that many bytes, which stay where they are.
  bool read_string(std::string_view& out) noexcept {
    const std::size_t start = pos_;
    std::uint64_t length = 0;
    if (!read(length)) return false;
    if (length > remaining()) {
      pos_ = start;
      return false;
    }
    const auto n = static_cast<std::size_t>(length);
    out = std::string_view(reinterpret_cast<const char*>(bytes_.data()) + pos_, n);
    pos_ += n;
    return true;
  }

  bool skip(std::uint64_t n) noexcept {
    if (n > remaining()) return false;
    pos_ += static_cast<std::size_t>(n);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t pos_ = 0;
};

}  // namespace nibblas::gguf
