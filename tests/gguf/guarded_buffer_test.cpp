// SPDX-License-Identifier: Apache-2.0
#include "support/guarded_buffer.hpp"

#include <gtest/gtest.h>

namespace nibblas::test {
namespace {

std::byte read_at(const std::byte* p) { return *static_cast<const volatile std::byte*>(p); }
void write_at(std::byte* p) { *static_cast<volatile std::byte*>(p) = std::byte{1}; }

TEST(GuardedBufferDeathTest, OneByteTooFarFaults) {
  for (const std::size_t size : {0u, 1u, 63u, 4096u, 10000u}) {
    GuardedBuffer end(size);
    EXPECT_DEATH(read_at(end.data() + size), "");
    EXPECT_DEATH(write_at(end.data() + size), "");
    GuardedBuffer front(size, Flush::front);
    EXPECT_DEATH(read_at(front.data() - 1), "");
    EXPECT_DEATH(write_at(front.data() - 1), "");
  }
}

TEST(GuardedBufferDeathTest, ReadOnlyFaultsOnWrites) {
  GuardedBuffer buffer(100);
  buffer.make_read_only();
  EXPECT_EQ(read_at(buffer.data()), GuardedBuffer::kFiller);
  EXPECT_DEATH(write_at(buffer.data()), "");
}

TEST(GuardedBuffer, EveryByteIsUsable) {
  for (const std::size_t size : {1u, 4095u, 4096u, 4097u, 20000u}) {
    for (const Flush flush : {Flush::front, Flush::end}) {
      for (const std::size_t gap : {0u, 1u, 64u, 5000u}) {
        GuardedBuffer buffer(size, flush, gap);
        for (std::byte& b : buffer.bytes()) b = std::byte{7};
        EXPECT_TRUE(buffer.surroundings_intact());
      }
    }
  }
}

TEST(GuardedBuffer, SurroundingsNoticeAWrite) {
  for (const Flush flush : {Flush::front, Flush::end}) {
    GuardedBuffer before(100, flush, 1);
    before.data()[-1] = std::byte{0};
    EXPECT_FALSE(before.surroundings_intact());
    GuardedBuffer after(100, flush, 1);
    after.data()[100] = std::byte{0};
    EXPECT_FALSE(after.surroundings_intact());
  }
}

}  // namespace
}  // namespace nibblas::test
