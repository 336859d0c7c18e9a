// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "nibblas/status.hpp"

namespace nibblas::gguf {

/// A whole regular file, mapped read-only; unmapped by the destructor.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Mapping&& o) noexcept : bytes_(std::exchange(o.bytes_, {})) {}
  Mapping& operator=(Mapping&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Mapping();

  /// An empty file gives empty bytes. Errors: io_error, for anything but a readable regular file; never waits for
  /// the other end of a pipe. Throws bad_alloc when a message cannot be made.
  static Result<Mapping> open(const std::string& path);

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit Mapping(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace nibblas::gguf
