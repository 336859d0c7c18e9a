// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "nibblas/export.hpp"

namespace nibblas {

/// Uninitialised memory, 64-byte aligned; large ones are aligned to 2 MiB and ask for huge pages.
class NIBBLAS_API Buffer {
 public:
  Buffer() noexcept = default;
  /// Empty (data() == nullptr) when the memory cannot be had.
  explicit Buffer(std::size_t bytes) noexcept;
  ~Buffer();
  Buffer(Buffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The scratch of products: grows on demand, never shrinks, so a second call of the same shape allocates nothing.
/// Serves one call at a time, and holds no operand of that call. Over memory of the caller it does not grow: too little
/// is a status.
class NIBBLAS_API Workspace {
 public:
  Workspace() noexcept = default;
  /// `memory` stays the caller's; 64-byte aligned.
  explicit Workspace(std::span<std::byte> memory) noexcept : memory_(memory), fixed_(true) {}

  /// 64-byte aligned scratch of at least `bytes`, or null. Ends the use of what an earlier call returned.
  std::byte* reserve(std::size_t bytes) noexcept;
  std::size_t capacity() const noexcept { return fixed_ ? memory_.size() : buffer_.size(); }
  bool fixed() const noexcept { return fixed_; }
  /// What it has at the moment: capacity() bytes.
  std::span<const std::byte> memory() const noexcept {
    return fixed_ ? std::span<const std::byte>(memory_) : std::span(buffer_.data(), buffer_.size());
  }

 private:
  std::span<std::byte> memory_;
  Buffer buffer_;
  bool fixed_ = false;
};

}  // namespace nibblas
