// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "checks.hpp"
#include "gguf_builder.hpp"
#include "nibblas/gguf.hpp"

namespace nibblas::test {
namespace {

struct Type {
  std::uint32_t id;
  const char* name;
  std::uint64_t block_elems, block_bytes;
};

// Sizes written as the sums of the blocks' fields: scales, minimums, high bits, codes.
constexpr Type kSized[] = {
    {0, "f32", 1, 4},
    {1, "f16", 1, 2},
    {2, "q4_0", 32, 2 + 16},
    {3, "q4_1", 32, 2 + 2 + 16},
    {6, "q5_0", 32, 2 + 4 + 16},
    {7, "q5_1", 32, 2 + 2 + 4 + 16},
    {8, "q8_0", 32, 2 + 32},
    {9, "q8_1", 32, 2 + 2 + 32},
    {10, "q2_k", 256, 16 + 64 + 2 + 2},
    {11, "q3_k", 256, 32 + 64 + 12 + 2},
    {12, "q4_k", 256, 2 + 2 + 12 + 128},
    {13, "q5_k", 256, 2 + 2 + 12 + 32 + 128},
    {14, "q6_k", 256, 128 + 64 + 16 + 2},
    {15, "q8_k", 256, 4 + 256 + 32},
    {16, "iq2_xxs", 256, 2 + 64},
    {17, "iq2_xs", 256, 2 + 64 + 8},
    {18, "iq3_xxs", 256, 2 + 64 + 32},
    {19, "iq1_s", 256, 2 + 32 + 16},
    {20, "iq4_nl", 32, 2 + 16},
    {21, "iq3_s", 256, 2 + 64 + 8 + 32 + 4},
    {22, "iq2_s", 256, 2 + 64 + 8 + 8},
    {23, "iq4_xs", 256, 2 + 2 + 4 + 128},
    {24, "i8", 1, 1},
    {25, "i16", 1, 2},
    {26, "i32", 1, 4},
    {27, "i64", 1, 8},
    {28, "f64", 1, 8},
    {29, "iq1_m", 256, 32 + 16 + 8},
    {30, "bf16", 1, 2},
    {31, "q4_0_4_4", 32, 2 + 16},
    {32, "q4_0_4_8", 32, 2 + 16},
    {33, "q4_0_8_8", 32, 2 + 16},
    {34, "tq1_0", 256, 48 + 4 + 2},
    {35, "tq2_0", 256, 64 + 2},
    {37, "iq4_nl_4_8", 32, 2 + 16},
    {38, "iq4_nl_8_8", 32, 2 + 16},
    {39, "mxfp4", 32, 1 + 16},
    {40, "nvfp4", 64, 4 + 32},
    {41, "q1_0", 128, 2 + 16},
};

const std::map<std::uint32_t, const char*> kUnsized = {
    {4, "q4_2"},     {5, "q4_3"},     {36, "i2_s/iq4_nl_4_4"}, {42, "q2_0"},
    {43, "type 43"}, {77, "type 77"}, {142, "type 142"},       {0xffffffff, "type 4294967295"},
};

const std::map<std::uint32_t, DType> kSupported = {
    {0, DType::f32},   {1, DType::f16},   {2, DType::q4_0},  {8, DType::q8_0},   {12, DType::q4_k},
    {13, DType::q5_k}, {14, DType::q6_k}, {30, DType::bf16}, {34, DType::tq1_0}, {35, DType::tq2_0},
};

GgufBuilder two_tensors(std::uint32_t type, std::vector<std::uint64_t> ne, std::uint64_t next, std::size_t data) {
  GgufBuilder b;
  b.header(2, 1).alignment(1).tensor("first", ne, type, 0).tensor("second", {4}, 24, next).data(data);
  return b;
}

TEST(GgufTypes, EveryKnownSize) {
  for (const Type& t : kSized) {
    SCOPED_TRACE(t.name);
    const std::uint64_t size = 2 * 3 * 5 * t.block_bytes;
    const std::vector<std::uint64_t> ne{2 * t.block_elems, 3, 5};
    const auto good = two_tensors(t.id, ne, size, size + 4);
    const auto file = gguf::File::parse(good.bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const gguf::Tensor& first = file->tensors()[0];
    EXPECT_EQ(first.type_name(), t.name);
    EXPECT_EQ(first.data.size(), size);
    check_promises(*file, good.bytes());

    const auto overlap = gguf::File::parse(two_tensors(t.id, ne, size - 1, size + 4).bytes());
    ASSERT_FALSE(overlap.ok());
    EXPECT_NE(overlap.status().message().find("'first' and 'second' overlap"), std::string::npos);
    const auto too_short = gguf::File::parse(two_tensors(t.id, ne, 0, size - 1).bytes());
    ASSERT_FALSE(too_short.ok());
    EXPECT_NE(too_short.status().message().find("'first'"), std::string::npos);
    if (t.block_elems > 1) {
      const auto broken = gguf::File::parse(two_tensors(t.id, {t.block_elems / 2, 6}, size, size + 4).bytes());
      ASSERT_FALSE(broken.ok());
      EXPECT_NE(broken.status().message().find(t.name), std::string::npos);
    }
  }
}

TEST(GgufTypes, WeightsOfSupportedOnesOnly) {
  for (const Type& t : kSized) {
    SCOPED_TRACE(t.name);
    const std::uint64_t size = 2 * 3 * 5 * t.block_bytes;
    const auto built = two_tensors(t.id, {2 * t.block_elems, 3, 5}, size, size + 4);
    const auto file = gguf::File::parse(built.bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto w = file->tensors()[0].weights();
    const auto supported = kSupported.find(t.id);
    ASSERT_EQ(w.ok(), supported != kSupported.end());
    if (w.ok()) {
      EXPECT_EQ(w->dtype, supported->second);
      EXPECT_EQ(w->K, 2 * t.block_elems);
      EXPECT_EQ(w->N, 15u);
      EXPECT_EQ(w->bytes, size);
      EXPECT_EQ(w->data, built.bytes().data() + built.bytes().size() - size - 4);
    } else {
      EXPECT_EQ(w.status().code(), StatusCode::unsupported);
      EXPECT_NE(w.status().message().find(t.name), std::string::npos);
      EXPECT_NE(w.status().message().find("'first'"), std::string::npos);
    }
  }
}

TEST(GgufTypes, UnknownSizesReachToTheNextTensor) {
  for (const auto& [id, name] : kUnsized) {
    SCOPED_TRACE(name);
    const auto built = two_tensors(id, {100, 3}, 57, 61 + 10);
    const auto file = gguf::File::parse(built.bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    const gguf::Tensor& first = file->tensors()[0];
    EXPECT_EQ(first.type_name(), name);
    EXPECT_EQ(first.data.size(), 57u);
    const auto w = first.weights();
    ASSERT_FALSE(w.ok());
    EXPECT_EQ(w.status().code(), StatusCode::unsupported);
    check_promises(*file, built.bytes());

    GgufBuilder alone;
    alone.header(1, 0).tensor("x", {100, 3}, id, 64).pad().data(100);
    EXPECT_EQ(gguf::File::parse(alone.bytes())->tensors()[0].data.size(), 36u);
  }
}

TEST(GgufTypes, UnknownSizesAreNamedInTheRefusal) {
  const auto refusal = [](std::uint32_t id) {
    const auto file = gguf::File::parse(two_tensors(id, {128}, 64, 68).bytes());
    EXPECT_TRUE(file.ok());
    return file->tensors()[0].weights().status().message();
  };
  EXPECT_NE(refusal(36).find("i2_s"), std::string::npos);
  EXPECT_NE(refusal(36).find("BitNet"), std::string::npos);
  EXPECT_NE(refusal(36).find("iq4_nl_4_4"), std::string::npos);
  EXPECT_NE(refusal(77).find("type 77"), std::string::npos);
  EXPECT_NE(refusal(42).find("q2_0"), std::string::npos);
}

TEST(GgufTypes, UnknownSizesMustStillLieInTheFile) {
  for (const auto& [id, name] : kUnsized) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(gguf::File::parse(two_tensors(id, {100}, 0, 61).bytes()).ok());            // both at 0
    EXPECT_FALSE(gguf::File::parse(two_tensors(id, {1ull << 62, 4}, 8, 60).bytes()).ok());  // 2^64 elements
    GgufBuilder past;
    past.header(1, 0).tensor("x", {100}, id, 64).pad().data(64);
    EXPECT_FALSE(gguf::File::parse(past.bytes()).ok());
  }
}

}  // namespace
}  // namespace nibblas::test
