// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>

#include "checks.hpp"
#include "gguf_builder.hpp"
#include "hostile_corpus.hpp"
#include "nibblas/gguf.hpp"
#include "support/guarded_buffer.hpp"

namespace nibblas::test {
namespace {

TEST(GgufHostile, EveryKindIsRefusedForItsOwnReason) {
  const auto corpus = hostile_corpus();
  ASSERT_GT(corpus.size(), 120u);
  for (const HostileFile& hostile : corpus) {
    SCOPED_TRACE(hostile.kind);
    for (const Flush flush : {Flush::front, Flush::end}) {
      GuardedBuffer buffer(std::span<const std::byte>(hostile.bytes), flush);
      buffer.make_read_only();
      const auto file = gguf::File::parse(buffer.bytes());
      ASSERT_FALSE(file.ok());
      EXPECT_EQ(file.status().code(), hostile.code);
      EXPECT_NE(file.status().message().find(hostile.says), std::string::npos) << file.status().message();
    }
  }
}

TEST(GgufHostile, EveryPrefixOfEveryKind) {
  GuardedBuffer arena(600);
  for (const HostileFile& hostile : hostile_corpus()) {
    SCOPED_TRACE(hostile.kind);
    for (std::size_t size = 0; size < std::min(hostile.bytes.size(), arena.size()); ++size) {
      const auto place = arena.bytes().last(size);
      std::copy_n(hostile.bytes.begin(), size, place.begin());
      const auto file = gguf::File::parse(place);
      ASSERT_FALSE(file.ok()) << size;
    }
  }
}

// Names that share a long prefix are the worst case of a sorted index.
TEST(GgufHostile, ManySimilarNamesTakeNoQuadraticTime) {
  GgufBuilder b;
  constexpr std::uint64_t count = 20000;
  b.header(0, count);
  const std::string prefix(200, 'k');
  for (std::uint64_t i = 0; i < count; ++i) b.key(prefix + std::to_string(i * 7919 % count), GgufBuilder::u8).byte(1);
  const auto start = std::chrono::steady_clock::now();
  const auto file = gguf::File::parse(b.bytes());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_NE(file->find_key(prefix + "19999"), nullptr);
  EXPECT_LT(seconds.count(), 5.0);  // takes 0.02 s; all pairs would be 4 * 10^8 comparisons
}

// A sparse file of nothing but zeros is full of entries with empty names: the second one ends it, however many follow.
TEST(GgufHostile, ANameThatIsThereAlreadyEndsTheWork) {
  constexpr std::uint64_t count = 1 << 22;
  for (const bool keys : {true, false}) {
    std::vector<std::byte> bytes = GgufBuilder().header(keys ? 0 : count, keys ? count : 0).bytes();
    bytes.resize(bytes.size() + count * (keys ? 13 : 24));
    const auto start = std::chrono::steady_clock::now();
    const auto file = gguf::File::parse(bytes);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(file.status().message(), keys ? "the metadata key '' appears twice" : "the tensor name '' appears twice");
    EXPECT_LT(seconds.count(), 0.1);  // microseconds; reading and sorting them all takes seconds
  }
  // What comes after the second one is not read.
  using B = GgufBuilder;
  const auto broken = B().header(0, 3).key("k", B::u8).byte(1).key("k", B::u8).byte(2).key("x", 99).bytes();
  EXPECT_NE(gguf::File::parse(broken).status().message().find("'k' appears twice"), std::string::npos);
}

}  // namespace
}  // namespace nibblas::test
