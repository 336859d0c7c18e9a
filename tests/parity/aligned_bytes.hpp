// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "nibblas/buffer.hpp"

namespace nibblas::test {

using Bytes = std::vector<std::byte>;

/// 64-byte aligned output of a packer or quantiser: full of filler at first, with more of it behind the end.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size) : buffer_(size + kBehind), size_(size) {
    std::fill_n(buffer_.data(), buffer_.size(), kFiller);
  }
  std::byte* data() { return buffer_.data(); }
  Bytes bytes() const { return {buffer_.data(), buffer_.data() + size_}; }
  bool rest_intact() const {
    return std::all_of(buffer_.data() + size_, buffer_.data() + buffer_.size(),
                       [](std::byte b) { return b == kFiller; });
  }

 private:
  static constexpr std::byte kFiller{0xcd};
  static constexpr std::size_t kBehind = 64;

  Buffer buffer_;
  std::size_t size_;
};

}  // namespace nibblas::test
