// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>

namespace nibblas::test {

/// Where the bytes of a GuardedBuffer touch a guard page.
enum class Flush { front, end };

/// `size` bytes between two pages that fault on any access: a read or write one byte past the flush end is a crash.
/// `gap` moves the bytes that far away from the guard they would touch, to choose their alignment. Between bytes and
/// guards lies filler (kFiller), checked by surroundings_intact(); the bytes start out as filler, too.
class GuardedBuffer {
 public:
  static constexpr std::byte kFiller{0xA5};

  explicit GuardedBuffer(std::size_t size, Flush flush = Flush::end, std::size_t gap = 0) : size_(size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    inner_ = std::max(page, (size + gap + page - 1) / page * page);
    mapped_ = inner_ + 2 * page;
    void* all = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(all);
    usable_ = base_ + page;
    if (::mprotect(usable_, inner_, PROT_READ | PROT_WRITE) != 0) {
      ::munmap(base_, mapped_);
      throw std::bad_alloc();
    }
    std::fill_n(usable_, inner_, kFiller);
    data_ = flush == Flush::front ? usable_ + gap : usable_ + inner_ - gap - size;
  }
  GuardedBuffer(std::span<const std::byte> bytes, Flush flush = Flush::end, std::size_t gap = 0)
      : GuardedBuffer(bytes.size(), flush, gap) {
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { ::munmap(base_, mapped_); }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  /// The bytes as T, size() / sizeof(T) of them; aligned for T when size and gap are multiples of its size.
  template <class T>
  T* as() noexcept {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as() const noexcept {
    return reinterpret_cast<const T*>(data_);
  }

  /// From now on a write anywhere in the buffer is a crash.
  void make_read_only() noexcept { ::mprotect(usable_, inner_, PROT_READ); }

  /// Is the filler between the bytes and the guard pages untouched?
  bool surroundings_intact() const noexcept {
    const auto is_filler = [](std::byte b) { return b == kFiller; };
    return std::all_of(static_cast<const std::byte*>(usable_), static_cast<const std::byte*>(data_), is_filler) &&
           std::all_of(static_cast<const std::byte*>(data_ + size_), static_cast<const std::byte*>(usable_ + inner_),
                       is_filler);
  }

 private:
  std::size_t size_ = 0;
  std::size_t inner_ = 0;   ///< bytes between the guard pages
  std::size_t mapped_ = 0;  ///< with the guard pages
  std::byte* base_ = nullptr;
  std::byte* usable_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace nibblas::test
