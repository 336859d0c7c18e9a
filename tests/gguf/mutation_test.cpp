// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "checks.hpp"
#include "gguf_builder.hpp"
#include "nibblas/gguf.hpp"
#include "support/guarded_buffer.hpp"

namespace nibblas::test {
namespace {

using B = GgufBuilder;
using Bytes = std::vector<std::byte>;

/// Small, but with every kind of thing in it.
Bytes small_file() {
  B b;
  b.header(5, 7).key("a.string", B::string).text("hello").alignment(16);
  b.key("a.flag", B::boolean).byte(1).key("a.float", B::f32).word(0x3fc00000).key("a.i64", B::i64).quad(77);
  b.key("tokens", B::array).word(B::string).quad(3).text("<s>").text("").text("b");
  b.key("nested", B::array)
      .word(B::array)
      .quad(2)
      .word(B::u16)
      .quad(2)
      .half(1)
      .half(2)
      .word(B::boolean)
      .quad(1)
      .byte(0);
  b.tensor("w.f32", {6, 3}, 0, 0).tensor("w.q4_0", {32, 2}, 2, 80).tensor("w.iq1_s", {256}, 19, 128);
  b.tensor("w.unknown", {3, 2, 2}, 77, 192).tensor("w.q8_0", {32, 1, 2, 1}, 8, 224);
  return b.pad(16).data(224 + 68).bytes();
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  void mutate(Bytes& bytes, bool may_resize) {
    const std::size_t at = below(bytes.size());
    switch (below(may_resize ? 7 : 5)) {
      case 0:
        return flip(bytes, at);
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<std::byte>(below(256));
        return;
      case 2:
        return overwrite(bytes, at, 4);
      case 3:
        return overwrite(bytes, at, 8);
      case 4:  // one piece over another
        for (std::size_t i = 0, from = below(bytes.size()), n = below(40);
             i < n && at + i < bytes.size() && from + i < bytes.size(); ++i) {
          bytes[at + i] = bytes[from + i];
        }
        return;
      case 5: {  // a piece in again, and everything behind it moves
        const Bytes copy = bytes;
        const std::size_t from = below(copy.size()), n = std::min(below(40), copy.size() - from);
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), copy.begin() + static_cast<std::ptrdiff_t>(from),
                     copy.begin() + static_cast<std::ptrdiff_t>(from + n));
        return;
      }
      default: {  // a piece out
        const std::size_t n = std::min(below(40), bytes.size() - at);
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + n));
      }
    }
  }

 private:
  void flip(Bytes& bytes, std::size_t at) {
    if (!bytes.empty()) bytes[at] ^= std::byte{1} << below(8);
  }
  /// A number that breaks arithmetic, or one that nearly fits.
  void overwrite(Bytes& bytes, std::size_t at, std::size_t width) {
    constexpr std::uint64_t edges[] = {0,          1,          2,          5,          31,         255,        65535,
                                       1ull << 31, 1ull << 32, 1ull << 42, 1ull << 59, 1ull << 62, 1ull << 63, ~0ull};
    const std::uint64_t value = below(2) == 0 ? edges[below(std::size(edges))] + below(3) - 1 : below(512);
    for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
      bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
    }
  }

  std::mt19937_64 random_;
};

struct Outcomes {
  std::size_t accepted = 0, refused = 0, tensors = 0;
};

void parse(std::span<const std::byte> bytes, Outcomes& outcomes) {
  const auto file = gguf::File::parse(bytes);
  if (file.ok()) {
    ++outcomes.accepted;
    outcomes.tensors += file->tensors().size();
    check_promises(*file, bytes);
  } else {
    ++outcomes.refused;
    EXPECT_TRUE(file.status().code() == StatusCode::invalid_data || file.status().code() == StatusCode::unsupported);
    EXPECT_FALSE(file.status().message().empty());
  }
  ASSERT_FALSE(::testing::Test::HasFailure());
}

void run(const Bytes& base, std::uint64_t seed, int count, Outcomes& outcomes) {
  Mutator mutator(seed);
  GuardedBuffer arena(4096);  // one for all: mapping 40000 of them costs more than the rest
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", mutation " + std::to_string(i));
    Bytes bytes = base;
    for (std::size_t n = 1 + mutator.below(3); n > 0; --n) mutator.mutate(bytes, true);
    ASSERT_LE(bytes.size(), arena.size());
    const auto place = i % 4 == 0 ? arena.bytes().first(bytes.size()) : arena.bytes().last(bytes.size());
    std::copy(bytes.begin(), bytes.end(), place.begin());
    ASSERT_NO_FATAL_FAILURE(parse(place, outcomes));
  }
}

TEST(GgufMutation, TheBaseItselfIsFine) {
  const Bytes base = small_file();
  const auto file = gguf::File::parse(base);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 5u);
  EXPECT_EQ(file->find("w.unknown")->data.size(), 32u);
  check_promises(*file, base);
}

// Both outcomes must be frequent, or the mutations test nothing.
TEST(GgufMutation, FortyThousandOfASmallFile) {
  const Bytes base = small_file();
  Outcomes all;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) run(base, seed, 10000, all);
  EXPECT_EQ(all.accepted + all.refused, 40000u);
  EXPECT_GT(all.accepted, 4000u);
  EXPECT_GT(all.refused, 4000u);
  EXPECT_GT(all.tensors, all.accepted);
}

// The header of a real file, changed in place in front of all its data.
TEST(GgufMutation, TheHeaderOfGolden) {
  constexpr std::size_t header_bytes = 832;
  const Bytes golden = read_file(NIBBLAS_GOLDEN_DIR "/golden.gguf");
  GuardedBuffer buffer{std::span<const std::byte>(golden)};
  Mutator mutator(99);
  Outcomes all;
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    Bytes header(golden.begin(), golden.begin() + header_bytes);
    mutator.mutate(header, false);
    std::copy(header.begin(), header.end(), buffer.data());
    ASSERT_NO_FATAL_FAILURE(parse(buffer.bytes(), all));
  }
  EXPECT_GT(all.accepted, 300u);
  EXPECT_GT(all.refused, 300u);
}

}  // namespace
}  // namespace nibblas::test
