// SPDX-License-Identifier: Apache-2.0
// Replaces operator new of the whole binary, to count its bytes and to let it fail.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "checks.hpp"
#include "gguf_builder.hpp"
#include "hostile_corpus.hpp"
#include "nibblas/gguf.hpp"

namespace {

constexpr std::size_t kHeader = 16;  // keeps the alignment of malloc; holds the size
std::size_t g_live = 0, g_peak = 0;
long g_until_failure = -1;  // allocations that still succeed; negative: all

void* allocate(std::size_t size) {
  if (g_until_failure == 0) throw std::bad_alloc();
  if (g_until_failure > 0) --g_until_failure;
  auto* block = static_cast<std::byte*>(std::malloc(size + kHeader));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(block) = size;
  g_live += size;
  g_peak = std::max(g_peak, g_live);
  return block + kHeader;
}

void release(void* p) noexcept {
  if (p == nullptr) return;
  auto* block = static_cast<std::byte*>(p) - kHeader;
  g_live -= *reinterpret_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }

namespace nibblas::test {
namespace {

using B = GgufBuilder;

/// The most bytes that were allocated at once while parsing.
std::size_t peak_of(std::span<const std::byte> bytes) {
  const std::size_t before = g_live;
  g_peak = g_live;
  { const auto file = gguf::File::parse(bytes); }
  EXPECT_EQ(g_live, before);
  return g_peak - before;
}

TEST(GgufAllocation, HostileCountsAllocateNothingMuch) {
  for (const HostileFile& hostile : hostile_corpus()) {
    SCOPED_TRACE(hostile.kind);
    EXPECT_LE(peak_of(hostile.bytes), 4096 + 4 * hostile.bytes.size());
  }
}

// The worst files: nothing but the smallest possible entries, distinct so that they are kept.
TEST(GgufAllocation, ProportionalToTheFileAtWorst) {
  constexpr std::uint64_t count = 50000;
  B keys, tensors;
  keys.header(0, count);
  tensors.header(count, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name{static_cast<char>(i), static_cast<char>(i >> 8)};
    keys.key(name, B::u8).byte(0);
    tensors.tensor(name, {0}, 24, 0);
  }
  tensors.pad();
  EXPECT_TRUE(gguf::File::parse(keys.bytes()).ok());
  EXPECT_TRUE(gguf::File::parse(tensors.bytes()).ok());
  EXPECT_LE(peak_of(keys.bytes()), 32 * keys.bytes().size());
  EXPECT_LE(peak_of(tensors.bytes()), 32 * tensors.bytes().size());
}

// As many entries announced as could just fit, and the first one broken.
TEST(GgufAllocation, AnnouncedEntriesAllocateNothing) {
  constexpr std::size_t size = 1 << 20;
  const auto keys = B().header(0, size / 13).text("k").word(99).data(size).bytes();
  const auto tensors = B().header(size / 24, 0).text("x").word(99).data(size).bytes();
  EXPECT_FALSE(gguf::File::parse(keys).ok());
  EXPECT_FALSE(gguf::File::parse(tensors).ok());
  EXPECT_LE(peak_of(keys), 4096u);
  EXPECT_LE(peak_of(tensors), 4096u);
}

/// Calls `work` with the first, then the second, ... allocation failing until it gets through, which takes `least`
/// failures or more.
template <class Work>
void with_every_failure(long least, Work work) {
  long n = 0;
  for (;; ++n) {
    const std::size_t before = g_live;
    g_until_failure = n;
    const StatusCode code = work();
    g_until_failure = -1;
    EXPECT_EQ(g_live, before) << "after " << n;
    if (code != StatusCode::out_of_memory) break;
    ASSERT_LT(n, 10000);
  }
  EXPECT_GE(n, least);
}

TEST(GgufAllocation, EveryFailureIsAStatus) {
  const std::string path = NIBBLAS_GOLDEN_DIR "/golden.gguf";
  const auto bytes = read_file(path);
  with_every_failure(20, [&] { return gguf::File::open(path).status().code(); });
  with_every_failure(20, [&] { return gguf::File::parse(bytes).status().code(); });
  ASSERT_TRUE(gguf::File::parse(bytes).ok());

  const auto unknown = B().header(1, 0).tensor("x", {1}, 77, 0).pad().data(1).bytes();
  const auto file = gguf::File::parse(unknown);
  ASSERT_TRUE(file.ok());
  with_every_failure(1, [&] { return file->tensors()[0].weights().status().code(); });
  const std::string missing = path + ".missing";
  with_every_failure(1, [&] { return gguf::File::open(missing).status().code(); });
}

TEST(GgufAllocation, EveryFailureWhileRefusing) {
  for (const HostileFile& hostile : hostile_corpus()) {
    SCOPED_TRACE(hostile.kind);
    with_every_failure(1, [&] { return gguf::File::parse(hostile.bytes).status().code(); });
  }
}

}  // namespace
}  // namespace nibblas::test
