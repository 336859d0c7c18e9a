// SPDX-License-Identifier: Apache-2.0
#include "nibblas/buffer.hpp"

#include <cstdint>
#include <limits>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nibblas {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Below two huge pages the alignment could waste as much as it brings.
constexpr std::size_t kHugeThreshold = 2 * kHugePage;

constexpr std::align_val_t alignment(std::size_t bytes) noexcept {
  return std::align_val_t{bytes >= kHugeThreshold ? kHugePage : kAlignment};
}

}  // namespace

Buffer::Buffer(std::size_t bytes) noexcept {
  // Pointers into one object must be subtractable; sanitizers also abort above this instead of failing.
  if (bytes == 0 || bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - kHugePage) return;
  data_ = static_cast<std::byte*>(::operator new(bytes, alignment(bytes), std::nothrow));
  if (data_ == nullptr) return;
  size_ = bytes;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Advice: a kernel without huge pages refuses it, and the buffer is as good.
  if (bytes >= kHugeThreshold) static_cast<void>(madvise(data_, bytes, MADV_HUGEPAGE));
#endif
}

Buffer::~Buffer() {
  if (data_ != nullptr) ::operator delete(data_, alignment(size_));
}

std::byte* Workspace::reserve(std::size_t bytes) noexcept {
  if (fixed_) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(memory_.data()) % kAlignment == 0;
    return aligned && bytes <= memory_.size() ? memory_.data() : nullptr;
  }
  if (buffer_.data() == nullptr || bytes > buffer_.size()) {
    // Zero bytes get an address too: null means failure.
    Buffer grown(bytes == 0 ? kAlignment : bytes);
    if (grown.data() == nullptr) return nullptr;
    buffer_ = std::move(grown);
  }
  return buffer_.data();
}

}  // namespace nibblas
