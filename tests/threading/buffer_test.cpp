// SPDX-License-Identifier: Apache-2.0
#include "nibblas/buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NIBBLAS_TEST_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NIBBLAS_TEST_SANITIZER 1
#endif
#endif

namespace nibblas::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t misalignment(const void* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment;
}

TEST(Buffer, Alignment) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{4097},
                                  4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1, 9 * kMiB + 5}) {
    Buffer buffer(bytes);
    ASSERT_NE(buffer.data(), nullptr) << bytes;
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(misalignment(buffer.data(), 64), 0u) << bytes;
    if (bytes >= 4 * kMiB) {
      EXPECT_EQ(misalignment(buffer.data(), 2 * kMiB), 0u) << bytes;
    }
    std::memset(buffer.data(), 0x5a, bytes);
  }
}

TEST(Buffer, Empty) {
  Buffer none;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.size(), 0u);
  Buffer zero(0);
  EXPECT_EQ(zero.data(), nullptr);
  EXPECT_EQ(zero.size(), 0u);
}

TEST(Buffer, Moves) {
  Buffer a(100);
  std::byte* data = a.data();
  Buffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 100u);
  Buffer c(200);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), 100u);
}

std::size_t absurd_sizes(std::size_t (&out)[5]) {
  constexpr std::size_t max = std::numeric_limits<std::size_t>::max();
  out[0] = max;
  out[1] = max - 63;
  out[2] = max / 2;
  out[3] = max / 2 + 1;
  out[4] = max / 4;
#if defined(NIBBLAS_TEST_SANITIZER)
  return 4;  // the last one reaches the allocator, and the sanitizers' ends the program
#else
  return 5;
#endif
}

TEST(Buffer, MemoryThatCannotBeHad) {
  std::size_t sizes[5];
  const std::size_t count = absurd_sizes(sizes);
  for (std::size_t i = 0; i < count; ++i) {
    Buffer buffer(sizes[i]);
    EXPECT_EQ(buffer.data(), nullptr) << sizes[i];
    EXPECT_EQ(buffer.size(), 0u) << sizes[i];
  }
}

TEST(Workspace, GrowsAndNeverShrinks) {
  Workspace workspace;
  EXPECT_FALSE(workspace.fixed());
  EXPECT_EQ(workspace.capacity(), 0u);
  std::byte* first = workspace.reserve(1000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(misalignment(first, 64), 0u);
  EXPECT_EQ(workspace.capacity(), 1000u);
  EXPECT_EQ(workspace.reserve(1000), first);
  EXPECT_EQ(workspace.reserve(10), first);
  EXPECT_EQ(workspace.capacity(), 1000u);
  std::byte* second = workspace.reserve(5 * kMiB);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(misalignment(second, 64), 0u);
  EXPECT_EQ(workspace.capacity(), 5 * kMiB);
  std::memset(second, 1, 5 * kMiB);
  EXPECT_EQ(workspace.reserve(1), second);
}

TEST(Workspace, ZeroBytesAreNoFailure) {
  Workspace workspace;
  EXPECT_NE(workspace.reserve(0), nullptr);
}

TEST(Workspace, KeepsWhatItHasWhenItCannotGrow) {
  Workspace workspace;
  std::byte* first = workspace.reserve(128);
  EXPECT_EQ(workspace.reserve(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(workspace.capacity(), 128u);
  EXPECT_EQ(workspace.reserve(128), first);
}

TEST(Workspace, OverTheCallersMemory) {
  alignas(64) std::byte memory[256];
  Workspace workspace{std::span(memory)};
  EXPECT_TRUE(workspace.fixed());
  EXPECT_EQ(workspace.capacity(), 256u);
  EXPECT_EQ(workspace.reserve(0), memory);
  EXPECT_EQ(workspace.reserve(256), memory);
  EXPECT_EQ(workspace.reserve(257), nullptr);
  EXPECT_EQ(workspace.reserve(64), memory);
  EXPECT_EQ(workspace.capacity(), 256u);
}

TEST(Workspace, OverMisalignedMemory) {
  alignas(64) std::byte memory[256];
  Workspace workspace{std::span(memory).subspan(8)};
  EXPECT_EQ(workspace.reserve(64), nullptr);
}

}  // namespace
}  // namespace nibblas::test
