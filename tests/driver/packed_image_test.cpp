// SPDX-License-Identifier: Apache-2.0
// Packed weights as bytes that somebody else may have written: a status or an object that is safe to use.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "driver/exact_problem.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/matmul.hpp"
#include "support/fill.hpp"
#include "support/guarded_buffer.hpp"

namespace nibblas::test {
namespace {

// Where things lie in the header.
constexpr std::size_t kHeaderVersion = 8, kDType = 12, kLayoutId = 16, kLayoutVersion = 20, kN = 24, kK = 32,
                      kReserved16 = 22, kPayload = 40, kReserved = 48;

class PackedImage : public testing::Test {
 protected:
  std::vector<std::byte> image_of(const ExactProblem& p) {
    const Result<PackedWeights> packed = PackedWeights::pack(p.view(), context);
    EXPECT_TRUE(packed) << packed.status().message();
    return {packed->bytes().begin(), packed->bytes().end()};
  }

  /// Uses whatever from_bytes() let through, if its size is what a test can pay for.
  void use(const PackedWeights& w) {
    EXPECT_FALSE(explain(w, 1, context).empty());
    const Result<std::size_t> bytes = workspace_size(w, 2, context);
    if (w.layout_id() >= kFirstForeignLayout) {
      EXPECT_FALSE(bytes);
    }
    if (w.N() > 4096 || w.K() > 4096) return;
    const std::vector<float> x(2 * w.K(), 1.0f);
    Output y(2, w.N());
    const Status s = matmul(w, {x.data(), 2, w.K()}, y.view(), context);
    EXPECT_EQ(s.ok(), w.layout_id() < kFirstForeignLayout) << s.message();
    EXPECT_EQ(y.untouched(), !s.ok() || w.N() == 0);
  }

  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
};

template <class T>
void put(std::byte* image, std::size_t at, T value) {
  std::memcpy(image + at, &value, sizeof value);
}

void refused(const Result<PackedWeights>& r, StatusCode code, std::initializer_list<const char*> words) {
  ASSERT_FALSE(r);
  EXPECT_EQ(to_string(r.status().code()), to_string(code));
  for (const char* word : words) {
    EXPECT_NE(r.status().message().find(word), std::string::npos) << word << " is not in: " << r.status().message();
  }
}

TEST_F(PackedImage, SavedAndMappedAgain) {
  for (const ExactCase& c : kExactCases) {
    const ExactProblem p(c.dtype, 3, 21, c.block * 2);
    const std::vector<std::byte> image = image_of(p);
    EXPECT_EQ(image.size(), packed_bytes(c.dtype, 21, c.block * 2).value());
    GuardedBuffer memory(image, Flush::front);
    memory.make_read_only();
    const Result<PackedWeights> w = PackedWeights::from_bytes(memory.bytes());
    ASSERT_TRUE(w) << w.status().message();
    EXPECT_EQ(w->dtype(), c.dtype);
    EXPECT_EQ(w->N(), 21u);
    EXPECT_EQ(w->K(), c.block * 2);
    EXPECT_EQ(w->bytes().data(), memory.data());
    Output y(3, 21);
    ASSERT_TRUE(matmul(*w, p.rows(), y.view(), context, {.compute = c.compute}));
    EXPECT_EQ(y.difference(p.want), "") << to_string(c.dtype);
  }
}

TEST_F(PackedImage, PackingIsTheSameOnAnyExecutorAndLeavesNoGarbage) {
  ThreadPool pool(3);
  for (const ExactCase& c : kExactCases) {
    const ExactProblem p(c.dtype, 1, 85, c.block * 3);
    const std::vector<std::byte> serial = image_of(p);
    for (int i = 0; i < 4; ++i) {
      // What the allocator hands out next has just held something else.
      Buffer dirty(serial.size());
      std::memset(dirty.data(), 0x11 * (i + 1), dirty.size());
      dirty = Buffer();
      context.executor = i % 2 != 0 ? &pool : nullptr;
      EXPECT_EQ(image_of(p), serial) << to_string(c.dtype);
    }
    context.executor = nullptr;
  }
}

TEST_F(PackedImage, WithoutColumnsTheImageIsDefinedToo) {
  for (const DType t : {DType::bitnet_b158, DType::q4_0}) {
    const Result<PackedWeights> w = PackedWeights::pack({t, 33, 0, nullptr, 0, 0}, context);
    ASSERT_TRUE(w);
    for (const std::byte b : w->bytes().subspan(PackedWeights::kHeaderBytes)) EXPECT_EQ(b, std::byte{0});
    Buffer copy(w->bytes().size());
    std::memcpy(copy.data(), w->bytes().data(), copy.size());
    EXPECT_TRUE(PackedWeights::from_bytes({copy.data(), copy.size()}));
  }
}

TEST_F(PackedImage, HeaderFieldsThatAreWrong) {
  const ExactProblem p(DType::q4_0, 1, 20, 64);
  const std::vector<std::byte> good = image_of(p);
  const auto with = [&](std::size_t at, auto value) {
    static Buffer memory;
    memory = Buffer(good.size());
    std::memcpy(memory.data(), good.data(), good.size());
    put(memory.data(), at, value);
    return PackedWeights::from_bytes({memory.data(), memory.size()});
  };
  refused(with(0, 'X'), StatusCode::invalid_data, {"magic"});
  refused(with(kHeaderVersion, std::uint32_t{2}), StatusCode::invalid_data, {"header version 2"});
  refused(with(kDType, std::uint32_t{11}), StatusCode::invalid_data, {"format 11"});
  refused(with(kDType, std::uint32_t{0x100}), StatusCode::invalid_data, {"format 256"});
  refused(with(kLayoutId, std::uint32_t{4}), StatusCode::invalid_data, {"layout 4 ", "reads 5 "});
  refused(with(kLayoutVersion, std::uint16_t{2}), StatusCode::invalid_data, {"version 2", "version 1"});
  refused(with(kN, std::uint64_t{33}), StatusCode::invalid_data, {"33 x 64"});
  refused(with(kN, UINT64_MAX), StatusCode::shape_mismatch, {"18446744073709551615"});
  refused(with(kK, std::uint64_t{96}), StatusCode::invalid_data, {"20 x 96"});
  refused(with(kK, std::uint64_t{65}), StatusCode::shape_mismatch, {"65", "32"});
  refused(with(kPayload, std::uint64_t{1}), StatusCode::invalid_data, {"1 bytes"});
  refused(with(kReserved16, std::uint16_t{1}), StatusCode::invalid_data, {"reserved"});
  for (std::size_t at = kReserved; at < PackedWeights::kHeaderBytes; ++at) {
    refused(with(at, '\1'), StatusCode::invalid_data, {"reserved"});
  }
  const Result<PackedWeights> foreign = with(kLayoutId, kFirstForeignLayout + 7);
  ASSERT_TRUE(foreign) << "nobody here knows the layout yet; a registry may";
  Output y(1, 20);
  const Status s = matmul(*foreign, p.rows(), y.view(), context);
  EXPECT_EQ(s.code(), StatusCode::unsupported);
  EXPECT_NE(s.message().find(std::to_string(kFirstForeignLayout + 7)), std::string::npos) << s.message();
  EXPECT_TRUE(y.untouched());
}

TEST_F(PackedImage, ForeignLayoutsHaveAShapeOfTheFormatToo) {
  const std::vector<std::byte> good = image_of(ExactProblem(DType::q4_0, 1, 20, 64));
  Buffer memory(good.size());
  const auto shaped = [&](std::uint64_t N, std::uint64_t K) {
    std::memcpy(memory.data(), good.data(), good.size());
    put(memory.data(), kLayoutId, kFirstForeignLayout + 7);
    put(memory.data(), kN, N);
    put(memory.data(), kK, K);
    return PackedWeights::from_bytes({memory.data(), memory.size()});
  };
  EXPECT_TRUE(shaped(20, 64));
  EXPECT_TRUE(shaped(1000, 4096)) << "how many bytes that takes only its kernel knows";
  refused(shaped(20, 65), StatusCode::shape_mismatch, {"K = 65", "32"});
  refused(shaped(SIZE_MAX, SIZE_MAX), StatusCode::shape_mismatch, {"18446744073709551615"});
  refused(shaped(SIZE_MAX, 64), StatusCode::shape_mismatch, {"18446744073709551615"});
  refused(shaped(1, SIZE_MAX / 32 * 32), StatusCode::shape_mismatch, {"overflows"});
}

TEST_F(PackedImage, EveryByteOfTheHeaderAndEveryValue) {
  for (const ExactCase& c : {ExactCase{DType::q4_0, Compute::int8, 32}, ExactCase{DType::bitnet_b158, Compute::int8, 1},
                             ExactCase{DType::tq2_0, Compute::int8, 256}, ExactCase{DType::f16, Compute::f32, 1}}) {
    const std::vector<std::byte> good = image_of(ExactProblem(c.dtype, 1, 17, c.block == 1 ? 33 : c.block));
    // At the front of a page for the alignment; a read past the end meets the filler or the guard.
    GuardedBuffer memory(good, Flush::front);
    int accepted = 0;
    for (std::size_t at = 0; at < PackedWeights::kHeaderBytes; ++at) {
      for (int value = 0; value < 256; ++value) {
        memory.data()[at] = static_cast<std::byte>(value);
        if (const Result<PackedWeights> w = PackedWeights::from_bytes(memory.bytes())) {
          use(*w);
          accepted += memory.data()[at] != good[at];
        }
      }
      memory.data()[at] = good[at];
    }
    EXPECT_GT(accepted, 0) << "nothing but the original passed: is this test looking at the header?";
    EXPECT_TRUE(memory.surroundings_intact());
  }
}

TEST_F(PackedImage, RandomHeaders) {
  const std::vector<std::byte> good = image_of(ExactProblem(DType::q8_0, 1, 17, 64));
  GuardedBuffer memory(good, Flush::front);
  Random random(5);
  constexpr std::array<std::uint64_t, 8> kSizes{0, 1, 16, 64, 1u << 31, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 64};
  for (int i = 0; i < 20000; ++i) {
    std::memcpy(memory.data(), good.data(), PackedWeights::kHeaderBytes);
    if (random.below(2) != 0) put(memory.data(), kDType, static_cast<std::uint32_t>(random.below(kDTypeCount)));
    if (random.below(2) != 0) put(memory.data(), kLayoutId, static_cast<std::uint32_t>(random.below(11)));
    if (random.below(4) == 0) put(memory.data(), kLayoutId, static_cast<std::uint32_t>(random.next()));
    if (random.below(2) != 0) put(memory.data(), kN, kSizes[random.below(kSizes.size())]);
    if (random.below(2) != 0) put(memory.data(), kK, kSizes[random.below(kSizes.size())]);
    if (const Result<PackedWeights> w = PackedWeights::from_bytes(memory.bytes())) use(*w);
  }
}

TEST_F(PackedImage, EveryTruncation) {
  const std::vector<std::byte> good = image_of(ExactProblem(DType::q4_0, 1, 17, 64));
  GuardedBuffer memory(good, Flush::front);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Result<PackedWeights> w = PackedWeights::from_bytes(memory.bytes().first(size));
    ASSERT_FALSE(w) << size;
    EXPECT_EQ(w.status().code(), StatusCode::invalid_data);
  }
  refused(PackedWeights::from_bytes({}), StatusCode::invalid_data, {"0 bytes"});
}

TEST_F(PackedImage, MisalignedImages) {
  const std::vector<std::byte> good = image_of(ExactProblem(DType::q4_0, 1, 17, 64));
  for (std::size_t offset = 1; offset < 64; ++offset) {
    GuardedBuffer memory(good, Flush::front, offset);
    refused(PackedWeights::from_bytes(memory.bytes()), StatusCode::invalid_argument, {"64-byte aligned"});
  }
}

TEST_F(PackedImage, MovedWeightsServe) {
  const ExactProblem p(DType::q4_0, 2, 20, 64);
  PackedWeights w = PackedWeights::pack(ExactProblem(DType::q4_0, 1, 999, 64).view(), context).value();
  PackedWeights from = PackedWeights::pack(p.view(), context).value();
  w = std::move(from);
  Output y(2, 20);
  EXPECT_EQ(matmul(from, p.rows(), y.view(), context).code(), StatusCode::invalid_argument);
  ASSERT_TRUE(matmul(w, p.rows(), y.view(), context));
  EXPECT_EQ(y.difference(p.want), "");
}

}  // namespace
}  // namespace nibblas::test
