// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "nibblas/dtype.hpp"
#include "nibblas/status.hpp"

namespace nibblas {

/// One piece of a message: text or a number.
class MessagePart {
 public:
  MessagePart(std::string_view text) noexcept : text_(text) {}
  MessagePart(const char* text) noexcept : text_(text) {}
  MessagePart(std::unsigned_integral auto n) noexcept { print("%llu", static_cast<unsigned long long>(n)); }
  MessagePart(std::signed_integral auto n) noexcept { print("%lld", static_cast<long long>(n)); }
  MessagePart(float f) noexcept { print("%.9g", static_cast<double>(f)); }
  /// The name, or the number of a value outside the enum.
  MessagePart(Compute c) noexcept : MessagePart(to_string(c)) {
    if (static_cast<std::size_t>(c) > kComputeCount) print("%u", static_cast<unsigned>(c));
  }
  MessagePart(DType t) noexcept : MessagePart(to_string(t)) {
    if (!is_valid(t)) print("%u", static_cast<unsigned>(t));
  }

  std::string_view text() const noexcept { return length_ != 0 ? std::string_view(digits_, length_) : text_; }

 private:
  template <class T>
  void print(const char* format, T value) noexcept {
    length_ = static_cast<std::size_t>(std::snprintf(digits_, sizeof digits_, format, value));
  }

  std::string_view text_;
  char digits_[24] = {};
  std::size_t length_ = 0;
};

inline std::string text_of(MessagePart part) { return std::string(part.text()); }

/// The status with all parts joined; without memory for the message it is empty, and the code stands.
template <class... Parts>
[[gnu::cold]] Status error(StatusCode code, const Parts&... parts) noexcept {
  try {
    std::string message;
    (message.append(MessagePart(parts).text()), ...);
    return {code, std::move(message)};
  } catch (const std::exception&) {
    return {code, {}};
  }
}

}  // namespace nibblas
