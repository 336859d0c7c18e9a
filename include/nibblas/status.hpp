// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nibblas/export.hpp"

namespace nibblas {

enum class StatusCode : std::uint8_t {
  ok,
  invalid_argument,  ///< null pointer, bad stride, bad option
  shape_mismatch,    ///< dimensions that do not fit together, K not a multiple of the block
  buffer_too_small,  ///< fewer bytes than the shape needs
  unsupported,       ///< format, compute or provider that cannot serve the request
  invalid_data,      ///< bytes that are not a valid file, block or packed image
  not_found,         ///< no provider, kernel or tensor of that name
  out_of_memory,     ///< an allocation failed
  io_error,          ///< the operating system refused a file
};

NIBBLAS_API std::string_view to_string(StatusCode code) noexcept;

/// What every public call returns: a code and, unless ok, a sentence that names the offending value.
/// Making, copying, moving and reading one never throws; if the message cannot be allocated, it is empty.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  NIBBLAS_API Status(const Status& o) noexcept;
  NIBBLAS_API Status& operator=(const Status& o) noexcept;
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(StatusCode code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == StatusCode::ok; }
  explicit operator bool() const noexcept { return ok(); }
  StatusCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;
};

/// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) noexcept : value_(std::move(value)) {}
  Result(Status status) noexcept : status_(std::move(status)) {}

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const noexcept { return status_; }
  /// Precondition: ok().
  T& value() & noexcept { return *value_; }
  const T& value() const& noexcept { return *value_; }
  T&& value() && noexcept { return *std::move(value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }
  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return *std::move(value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace nibblas
