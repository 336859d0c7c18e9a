// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Names of providers, kernels and features are ASCII, whatever the locale.

namespace nibblas {

constexpr char ascii_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool ascii_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr bool ascii_control(char c) noexcept { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

constexpr bool ascii_iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) {
      return false;
    }
  }
  return true;
}

constexpr std::string_view ascii_trim(std::string_view s) noexcept {
  while (!s.empty() && ascii_space(s.front())) {
    s.remove_prefix(1);
  }
  while (!s.empty() && ascii_space(s.back())) {
    s.remove_suffix(1);
  }
  return s;
}

/// Joins what can be appended to a string: text("a", view, name).
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (out.append(parts), ...);
  return out;
}

/// A name from outside, fit for a message: control characters as \xNN, cut after `limit` bytes.
inline std::string shown(std::string_view name, std::size_t limit = 64) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : name.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (ascii_control(c)) {
      out.append("\\x").append({digits[byte >> 4], digits[byte & 15u]});
    } else {
      out += c;
    }
  }
  return name.size() > limit ? out + "..." : out;
}

inline void append_item(std::string& list, std::string_view item) {
  if (!list.empty()) {
    list += ", ";
  }
  list += item;
}

}  // namespace nibblas
