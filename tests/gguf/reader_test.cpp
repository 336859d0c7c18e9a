// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "checks.hpp"
#include "gguf_builder.hpp"
#include "nibblas/gguf.hpp"

namespace nibblas::test {
namespace {

using B = GgufBuilder;

/// A directory of its own, gone with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "nibblas-gguf-XXXXXX") {
    std::string name = path_.string();
    if (::mkdtemp(name.data()) == nullptr) throw std::bad_alloc();
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream out(path(name), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

StatusCode open_error(const std::string& path) {
  const auto file = gguf::File::open(path);
  EXPECT_FALSE(file.ok());
  EXPECT_FALSE(file.status().message().empty());
  return file.status().code();
}

TEST(GgufOpen, WhatIsNoRegularFile) {
  const TemporaryDirectory dir;
  EXPECT_EQ(open_error(dir.path("missing.gguf")), StatusCode::io_error);
  EXPECT_EQ(open_error(dir.path("")), StatusCode::io_error);
  EXPECT_EQ(open_error(""), StatusCode::io_error);
  EXPECT_EQ(open_error("/dev/zero"), StatusCode::io_error);
  const std::string real = NIBBLAS_GOLDEN_DIR "/golden.gguf";
  EXPECT_EQ(open_error(real + std::string("\0.txt", 5)), StatusCode::io_error);
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(open_error(dir.path("fifo")), StatusCode::io_error);
}

TEST(GgufOpen, WhatIsNoGguf) {
  const TemporaryDirectory dir;
  EXPECT_EQ(open_error(dir.write("empty", {})), StatusCode::invalid_data);
  EXPECT_EQ(open_error(dir.write("short", B().byte('G').bytes())), StatusCode::invalid_data);
  const std::string path = dir.write("zeros", std::vector<std::byte>(5000));
  EXPECT_EQ(open_error(path), StatusCode::invalid_data);
  EXPECT_NE(gguf::File::open(path).status().message().find(path), std::string::npos);
}

TEST(GgufOpen, TruncatedFiles) {
  const TemporaryDirectory dir;
  const auto golden = read_file(NIBBLAS_GOLDEN_DIR "/golden.gguf");
  const std::string path = dir.write("golden.gguf", golden);
  for (std::size_t size = golden.size() / 4096 * 4096; size > 0; size -= 4096) {
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0);
    ASSERT_EQ(open_error(path), StatusCode::invalid_data) << size;
  }
}

TEST(GgufOpen, SameAsParse) {
  const TemporaryDirectory dir;
  B b;
  b.header(1, 1).key("k", B::string).text("v").tensor("x", {3, 2}, 0, 0).pad().data(24);
  const auto opened = gguf::File::open(dir.write("a.gguf", b.bytes()));
  const auto parsed = gguf::File::parse(b.bytes());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  ASSERT_TRUE(parsed.ok());
  const gguf::Tensor &o = opened->tensors()[0], &p = parsed->tensors()[0];
  EXPECT_EQ(o.name, p.name);
  EXPECT_EQ(o.ne, p.ne);
  EXPECT_TRUE(std::equal(o.data.begin(), o.data.end(), p.data.begin(), p.data.end()));
  EXPECT_EQ(p.data.data(), b.bytes().data() + b.bytes().size() - 24);  // zero-copy
}

TEST(GgufOpen, TensorsOutliveAMoveAndTheFileName) {
  const TemporaryDirectory dir;
  B b;
  b.header(1, 0).tensor("x", {4}, 24, 0).pad().data(4);
  const std::string path = dir.write("a.gguf", b.bytes());
  auto opened = gguf::File::open(path);
  ASSERT_TRUE(opened.ok());
  const gguf::Tensor* before = opened->find("x");
  gguf::File moved = std::move(opened).value();
  EXPECT_EQ(moved.find("x"), before);
  gguf::File assigned = gguf::File::parse(B().header(0, 0).bytes()).value();
  assigned = std::move(moved);
  std::filesystem::remove(path);
  EXPECT_EQ(assigned.find("x"), before);
  EXPECT_EQ(before->data[3], std::byte{3 * 7 + 3});
}

TEST(GgufOpen, WhatWasMovedFromIsEmpty) {
  gguf::File file =
      gguf::File::parse(B().header(1, 1).key("k", B::u8).byte(1).tensor("x", {0}, 24, 0).pad().bytes()).value();
  const gguf::File taken = std::move(file);
  EXPECT_EQ(taken.tensors().size(), 1u);
  // NOLINTBEGIN(bugprone-use-after-move): that is the test
  EXPECT_TRUE(file.tensors().empty());
  EXPECT_TRUE(file.metadata().empty());
  EXPECT_EQ(file.version(), 0u);
  EXPECT_EQ(file.alignment(), 32u);
  EXPECT_EQ(file.find("x"), nullptr);
  EXPECT_EQ(file.find_key("k"), nullptr);
  EXPECT_EQ(
      gguf::i2s_tensor(file, gguf::Tensor{"x", {4, 4}, 36, {}}, I2sLayout::rows4, I2sScale::companion).status().code(),
      StatusCode::not_found);
  // NOLINTEND(bugprone-use-after-move)
}

TEST(GgufOpen, MessagesQuoteThePath) {
  const auto message = [](const std::string& path) { return gguf::File::open(path).status().message(); };
  EXPECT_EQ(message(""), "'': No such file or directory");
  EXPECT_EQ(message("no\nsuch\x1b"), "'no\\x0asuch\\x1b': No such file or directory");
  EXPECT_EQ(message(std::string("a\0b", 3)), "'a\\x00b': the path contains a NUL character");
  EXPECT_LT(message(std::string(1 << 20, 'x')).size(), 1100u);
  const TemporaryDirectory dir;
  const std::string path = dir.write("bad.gguf", B().word(1).bytes());
  EXPECT_EQ(message(path), "'" + path + "': at byte 0: not a GGUF file");
}

TEST(GgufParse, EmptyFilesOfBothVersions) {
  for (const std::uint32_t version : {2u, 3u}) {
    const auto file = gguf::File::parse(B().header(0, 0, version).bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->version(), version);
    EXPECT_TRUE(file->tensors().empty());
    EXPECT_TRUE(file->metadata().empty());
    EXPECT_EQ(file->find(""), nullptr);
    EXPECT_EQ(file->find_key("general.alignment"), nullptr);
  }
}

TEST(GgufParse, EveryValueType) {
  B b;
  b.header(0, 17);
  b.key("u8", B::u8).byte(255).key("u16", B::u16).half(65535).key("u32", B::u32).word(0xfffffffe);
  b.key("u64", B::u64).quad(0xfffffffffffffffd).key("i8", B::i8).byte(0x80).key("i16", B::i16).half(0x8000);
  b.key("i32", B::i32).word(0x80000000).key("i64", B::i64).quad(0x8000000000000000);
  b.key("f32", B::f32).word(0xc0490fdb).key("f64", B::f64).quad(0x3ff8000000000000);
  b.key("nan", B::f32).word(0x7fc00000).key("true", B::boolean).byte(1).key("false", B::boolean).byte(0);
  b.key("text", B::string).text(std::string_view("a\0b", 3)).key("empty", B::string).text("");
  b.key("array", B::array).word(B::f64).quad(2).quad(0).quad(1);
  b.key("none", B::array).word(B::string).quad(0);
  const auto file = gguf::File::parse(b.bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto value = [&](const char* key) { return file->find_key(key)->value; };
  using Value = gguf::Value;
  constexpr std::int64_t one = 1;
  EXPECT_EQ(value("u8"), Value(std::uint64_t{255}));
  EXPECT_EQ(value("u16"), Value(std::uint64_t{65535}));
  EXPECT_EQ(value("u32"), Value(std::uint64_t{4294967294}));
  EXPECT_EQ(value("u64"), Value(std::uint64_t{18446744073709551613u}));
  EXPECT_EQ(value("i8"), Value(std::int64_t{-128}));
  EXPECT_EQ(value("i16"), Value(std::int64_t{-32768}));
  EXPECT_EQ(value("i32"), Value(-(one << 31)));
  EXPECT_EQ(value("i64"), Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(value("f32"), Value(double{-3.14159274f}));
  EXPECT_EQ(value("f64"), Value(1.5));
  EXPECT_TRUE(std::isnan(std::get<double>(value("nan"))));
  EXPECT_EQ(value("true"), Value(true));
  EXPECT_EQ(value("false"), Value(false));
  EXPECT_EQ(value("text"), Value(std::string("a\0b", 3)));
  EXPECT_EQ(value("empty"), Value(std::string()));
  EXPECT_TRUE(file->find_key("array")->is_array);
  EXPECT_EQ(file->find_key("array")->array_length, 2u);
  EXPECT_TRUE(file->find_key("none")->is_array);
  EXPECT_EQ(file->find_key("none")->array_length, 0u);
  EXPECT_FALSE(file->find_key("text")->is_array);
}

TEST(GgufParse, ArraysOfEveryTypeEndWhereTheyShould) {
  constexpr int sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  for (std::uint32_t type = 0; type < 13; ++type) {
    SCOPED_TRACE(type);
    B b;
    b.header(0, 2).key("array", B::array).word(type).quad(3);
    for (int i = 0; i < 3; ++i) {
      if (type == B::string) {
        b.text(i == 1 ? "" : "xyz");
      } else if (type == B::array) {
        b.word(B::u16).quad(2).half(1).half(2);
      } else {
        b.number(1, sizes[type]);
      }
    }
    b.key("after", B::u32).word(42);
    const auto file = gguf::File::parse(b.bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->find_key("array")->array_length, 3u);
    EXPECT_EQ(file->find_key("after")->value, gguf::Value(std::uint64_t{42}));
  }
}

TEST(GgufParse, NestedArraysUpToTheLimit) {
  const auto nested = [](int depth) {
    B b;
    b.header(0, 1).key("deep", B::array);
    for (int i = 1; i < depth; ++i) b.word(B::array).quad(1);
    return b.word(B::u8).quad(1).byte(7).bytes();
  };
  for (int depth = 1; depth <= 4; ++depth) EXPECT_TRUE(gguf::File::parse(nested(depth)).ok()) << depth;
  EXPECT_FALSE(gguf::File::parse(nested(5)).ok());
}

TEST(GgufParse, EveryLegalAlignment) {
  for (std::uint64_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
    SCOPED_TRACE(alignment);
    B b;
    b.header(2, 1).alignment(alignment).tensor("x", {1}, 24, 0).tensor("y", {1}, 24, alignment);
    b.pad(alignment).byte(11).pad(alignment).byte(22);
    const auto file = gguf::File::parse(b.bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->alignment(), alignment);
    EXPECT_EQ(file->tensors()[0].data[0], std::byte{11});
    EXPECT_EQ(file->tensors()[1].data[0], std::byte{22});
  }
}

TEST(GgufParse, AlignmentOfAnyUnsignedWidth) {
  EXPECT_EQ(gguf::File::parse(B().header(0, 1).key("general.alignment", B::u64).quad(64).bytes())->alignment(), 64u);
  EXPECT_EQ(gguf::File::parse(B().header(0, 1).key("general.alignment", B::u8).byte(8).bytes())->alignment(), 8u);
}

TEST(GgufParse, ZeroToFourDimensions) {
  const std::vector<std::vector<std::uint64_t>> shapes = {{}, {6}, {2, 3}, {2, 3, 4}, {2, 3, 4, 5}};
  constexpr std::size_t n[] = {1, 1, 3, 12, 60}, k[] = {1, 6, 2, 2, 2};
  for (std::size_t dims = 0; dims <= 4; ++dims) {
    B b;
    b.header(1, 0).tensor("x", shapes[dims], 0, 0).pad().data(4 * n[dims] * k[dims]);
    const auto file = gguf::File::parse(b.bytes());
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->tensors()[0].ne, shapes[dims]);
    const auto w = file->tensors()[0].weights();
    ASSERT_TRUE(w.ok()) << w.status().message();
    EXPECT_EQ(w->N, n[dims]);
    EXPECT_EQ(w->K, k[dims]);
    EXPECT_EQ(w->bytes, 4 * n[dims] * k[dims]);
  }
}

TEST(GgufParse, EmptyTensors) {
  const std::vector<std::vector<std::uint64_t>> shapes = {{0}, {0, 7}, {32, 0}, {0, 0, 0, 0}, {32, 0, 5}};
  constexpr std::size_t n[] = {1, 7, 0, 0, 0}, k[] = {0, 0, 32, 0, 32};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const std::uint32_t type : {0u, 2u, 77u}) {
      B b;
      b.header(2, 0).tensor("none", shapes[i], type, 0).tensor("one", {1}, 24, 0).pad().data(1);
      const auto file = gguf::File::parse(b.bytes());
      ASSERT_TRUE(file.ok()) << file.status().message();
      EXPECT_TRUE(file->tensors()[0].data.empty());
      EXPECT_EQ(file->tensors()[1].data.size(), 1u);
      if (type == 77) continue;
      const auto w = file->tensors()[0].weights();
      ASSERT_TRUE(w.ok()) << w.status().message();
      EXPECT_EQ(w->N, n[i]);
      EXPECT_EQ(w->K, k[i]);
      EXPECT_EQ(w->bytes, 0u);
    }
  }
}

TEST(GgufParse, DataNeedNotFollowTheOrderOfTheTensors) {
  B b;
  b.header(3, 0).tensor("c", {5}, 24, 96).tensor("a", {40}, 24, 0).tensor("b", {1}, 24, 64).pad().data(101);
  const auto file = gguf::File::parse(b.bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto first = [&](const char* name) { return std::to_integer<unsigned>(file->find(name)->data[0]); };
  EXPECT_EQ(first("a"), 3u);
  EXPECT_EQ(first("b"), (64 * 7 + 3) % 256u);
  EXPECT_EQ(first("c"), (96 * 7 + 3) % 256u);
  check_promises(*file, b.bytes());
}

TEST(GgufParse, ManyTensorsAreFoundByName) {
  constexpr int count = 3000;
  B b;
  b.header(count, 0);
  for (int i = 0; i < count; ++i)
    b.tensor(std::string("t").append(std::to_string(i * 7919 % count)), {1}, 24, 32u * unsigned(i));
  b.pad().data(32 * count);
  const auto file = gguf::File::parse(b.bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  check_promises(*file, b.bytes());
  EXPECT_EQ(file->find("t"), nullptr);
  EXPECT_EQ(file->find("t3000"), nullptr);
}

TEST(GgufTensor, HandMadeOnesAreCheckedToo) {
  const std::vector<std::byte> bytes(72);
  const auto code = [](const gguf::Tensor& t) { return t.weights().status().code(); };
  gguf::Tensor t{"mine", {32, 4}, 2, bytes};
  ASSERT_TRUE(t.weights().ok());
  t.data = std::span(bytes).first(71);
  EXPECT_EQ(code(t), StatusCode::buffer_too_small);
  EXPECT_EQ(code({"mine", {31, 4}, 2, bytes}), StatusCode::invalid_data);
  EXPECT_EQ(code({"mine", {1ull << 63, 4}, 0, bytes}), StatusCode::invalid_data);
  EXPECT_EQ(code({"mine", {32, 1ull << 63, 2}, 2, bytes}), StatusCode::invalid_data);
  EXPECT_EQ(code({"mine", {32}, 99, bytes}), StatusCode::unsupported);
  EXPECT_EQ(code({}), StatusCode::buffer_too_small);  // an f32 scalar without its 4 bytes
}

}  // namespace
}  // namespace nibblas::test
