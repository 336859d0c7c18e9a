// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "checks.hpp"
#include "nibblas/gguf.hpp"
#include "support/guarded_buffer.hpp"

// The expected numbers were read off the files by a separate script, not by this library.

namespace nibblas::test {
namespace {

const std::string kGolden = NIBBLAS_GOLDEN_DIR "/golden.gguf";
const std::string kModelF32 = NIBBLAS_GOLDEN_DIR "/models/stories260K-f32.gguf";
const std::string kModelQ8 = NIBBLAS_GOLDEN_DIR "/models/stories260K-q8_0.gguf";

struct ExpectedTensor {
  const char* name;
  DType dtype;
  std::uint32_t type;
  std::size_t K, N;
  std::size_t position;  ///< in the file
  std::size_t bytes;
  std::uint32_t crc;
};

void expect_tensor(const gguf::File& file, const std::vector<std::byte>& bytes, const ExpectedTensor& e) {
  SCOPED_TRACE(e.name);
  const gguf::Tensor* t = file.find(e.name);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->type, e.type);
  EXPECT_EQ(t->type_name(), to_string(e.dtype));
  ASSERT_EQ(t->data.size(), e.bytes);
  EXPECT_EQ(std::memcmp(t->data.data(), bytes.data() + e.position, e.bytes), 0);
  EXPECT_EQ(crc32(t->data), e.crc);
  const auto w = t->weights();
  ASSERT_TRUE(w.ok()) << w.status().message();
  EXPECT_EQ(w->dtype, e.dtype);
  EXPECT_EQ(w->K, e.K);
  EXPECT_EQ(w->N, e.N);
  EXPECT_EQ(w->bytes, e.bytes);
}

template <class T>
void expect_value(const gguf::File& file, const char* key, const T& value) {
  SCOPED_TRACE(key);
  const gguf::KeyValue* kv = file.find_key(key);
  ASSERT_NE(kv, nullptr);
  EXPECT_FALSE(kv->is_array);
  const T* held = std::get_if<T>(&kv->value);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(*held, value);
}

TEST(GgufGolden, EveryTensor) {
  constexpr ExpectedTensor expected[] = {
      {"w.f32", DType::f32, 0, 1536, 50, 832, 307200, 0x69807532},
      {"w.f16", DType::f16, 1, 1536, 50, 832 + 307200, 153600, 0x99fb442b},
      {"w.bf16", DType::bf16, 30, 1536, 50, 832 + 460800, 153600, 0xcd12155f},
      {"w.q8_0", DType::q8_0, 8, 1536, 50, 832 + 614400, 81600, 0x9a0153f0},
      {"w.q4_0", DType::q4_0, 2, 1536, 50, 832 + 696000, 43200, 0x051412fb},
      {"w.q4_k", DType::q4_k, 12, 1536, 50, 832 + 739200, 43200, 0x0d750af5},
      {"w.q6_k", DType::q6_k, 14, 1536, 50, 832 + 782400, 63000, 0xd4a5d9a7},
      {"w.q5_k", DType::q5_k, 13, 1536, 50, 832 + 845408, 52800, 0x24751585},
      {"w.tq1_0", DType::tq1_0, 34, 1536, 50, 832 + 898208, 16200, 0x84f29a16},
      {"w.tq2_0", DType::tq2_0, 35, 1536, 50, 832 + 914432, 19800, 0x0a22444f},
  };
  const auto bytes = read_file(kGolden);
  ASSERT_EQ(bytes.size(), 935072u);
  const auto file = gguf::File::open(kGolden);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->alignment(), 32u);
  ASSERT_EQ(file->tensors().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(file->tensors()[i].name, expected[i].name);  // the order of the file
    EXPECT_EQ(file->tensors()[i].ne, (std::vector<std::uint64_t>{1536, 50}));
    expect_tensor(*file, bytes, expected[i]);
  }
}

TEST(GgufGolden, EveryKey) {
  const auto file = gguf::File::open(kGolden);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->metadata().size(), 8u);
  EXPECT_EQ(file->metadata()[0].key, "general.architecture");
  EXPECT_EQ(file->metadata()[7].key, "golden.u64");
  expect_value(*file, "general.architecture", std::string("kernel-golden"));
  expect_value(*file, "general.name", std::string("golden matmul weights"));
  expect_value(*file, "general.quantization_version", std::uint64_t{2});
  expect_value(*file, "golden.f32", 1.5);
  expect_value(*file, "golden.flag", true);
  expect_value(*file, "golden.u64", std::uint64_t{1} << 40);
  for (const char* key : {"golden.tokens", "golden.ints"}) {
    const gguf::KeyValue* kv = file->find_key(key);
    ASSERT_NE(kv, nullptr);
    EXPECT_TRUE(kv->is_array);
    EXPECT_EQ(kv->array_length, 3u);
  }
  EXPECT_EQ(file->find_key("golden"), nullptr);
  EXPECT_EQ(file->find("w.q4_1"), nullptr);
}

TEST(GgufGolden, ModelInF32) {
  const auto bytes = read_file(kModelF32);
  const auto file = gguf::File::open(kModelF32);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 47u);
  EXPECT_EQ(file->metadata().size(), 13u);
  expect_value(*file, "llama.block_count", std::uint64_t{5});
  expect_value(*file, "llama.rope.freq_base", 10000.0);
  expect_tensor(*file, bytes, {"token_embd.weight", DType::f32, 0, 64, 512, 3328, 131072, 0x297f3ba4});
  expect_tensor(*file, bytes, {"blk.2.ffn_down.weight", DType::f32, 0, 172, 64, 3328 + 588288, 44032, 0xb62ab6ee});
  expect_tensor(*file, bytes, {"output_norm.weight", DType::f32, 0, 64, 1, 3328 + 1039872, 256, 0xd4ab65d9});
}

TEST(GgufGolden, ModelInQ8) {
  const auto bytes = read_file(kModelQ8);
  const auto file = gguf::File::open(kModelQ8);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tensors().size(), 47u);
  expect_tensor(*file, bytes, {"token_embd.weight", DType::q8_0, 8, 64, 512, 3328, 34816, 0xac52f8b9});
  expect_tensor(*file, bytes, {"blk.4.attn_k.weight", DType::q8_0, 8, 64, 32, 3328 + 363520, 2176, 0x266f0c8b});
  expect_tensor(*file, bytes, {"blk.4.ffn_down.weight", DType::f32, 0, 172, 64, 3328 + 384192, 44032, 0x9edd9b42});
}

TEST(GgufGolden, AllFilesKeepTheirPromisesFromMemory) {
  for (const std::string& path : {kGolden, kModelF32, kModelQ8}) {
    SCOPED_TRACE(path);
    const auto bytes = read_file(path);
    for (const Flush flush : {Flush::front, Flush::end}) {
      GuardedBuffer buffer(std::span<const std::byte>(bytes), flush);
      buffer.make_read_only();
      const auto file = gguf::File::parse(buffer.bytes());
      ASSERT_TRUE(file.ok()) << file.status().message();
      check_promises(*file, buffer.bytes());
    }
  }
}

// Before the last tensor's last byte every length is refused; after it only padding is missing.
constexpr std::size_t kGoldenEnd = 832 + 914432 + 19800;

void expect_truncated(std::span<const std::byte> bytes) {
  const auto file = gguf::File::parse(bytes);
  ASSERT_EQ(file.ok(), bytes.size() >= kGoldenEnd) << bytes.size();
  if (!file.ok()) {
    ASSERT_EQ(file.status().code(), StatusCode::invalid_data) << bytes.size();
  }
}

TEST(GgufGolden, TruncationAtEveryByte) {
  const auto bytes = read_file(kGolden);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    ASSERT_NO_FATAL_FAILURE(expect_truncated(std::span(bytes).first(size)));
  }
}

TEST(GgufGolden, TruncationFlushAgainstAGuardPage) {
  const auto bytes = read_file(kGolden);
  const auto check = [&](std::size_t size) {
    GuardedBuffer buffer(std::span<const std::byte>(bytes).first(size));
    buffer.make_read_only();
    expect_truncated(buffer.bytes());
  };
  for (std::size_t size = 0; size < 1024; ++size) ASSERT_NO_FATAL_FAILURE(check(size));
  for (std::size_t size = 1024; size < bytes.size(); size += 4096) ASSERT_NO_FATAL_FAILURE(check(size));
  for (std::size_t size = kGoldenEnd - 2; size <= bytes.size(); ++size) ASSERT_NO_FATAL_FAILURE(check(size));
}

}  // namespace
}  // namespace nibblas::test
