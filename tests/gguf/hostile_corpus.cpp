// SPDX-License-Identifier: Apache-2.0
#include "hostile_corpus.hpp"

#include <limits>
#include <utility>

#include "gguf_builder.hpp"

namespace nibblas::test {
namespace {

using B = GgufBuilder;
constexpr auto kInvalid = StatusCode::invalid_data;
constexpr auto kUnsupported = StatusCode::unsupported;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

void add_headers(std::vector<HostileFile>& all) {
  const auto add = [&](std::string kind, const B& b, StatusCode code, std::string says) {
    all.push_back({std::move(kind), b.bytes(), code, std::move(says)});
  };
  add("nothing", B(), kInvalid, "at byte 0: the file ends inside the magic number");
  add("another magic", B().word(0x46554746).word(3).quad(0).quad(0), kInvalid, "not a GGUF file");
  add("magic backwards", B().word(0x47475546).word(3).quad(0).quad(0), kInvalid, "not a GGUF file");
  add("magic only", B().word(0x46554747), kInvalid, "at byte 4: the file ends inside the version");
  for (const std::uint32_t version : {0u, 1u, 4u, 0xffffffffu, 0x00030001u}) {
    add("version " + std::to_string(version), B().header(0, 0, version), kUnsupported, std::to_string(version));
  }
  for (const std::uint32_t version : {0x01000000u, 0x02000000u, 0x03000000u}) {
    add("byte-swapped version", B().header(0, 0, version), kUnsupported, "big-endian");
  }
  add("no counts", B().word(0x46554747).word(3), kInvalid, "at byte 8: the file ends inside the header");
  for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{1} << 32, std::uint64_t{1} << 60, kMax}) {
    const std::string n = std::to_string(count);
    add("tensor count " + n, B().header(count, 0).data(24), kInvalid, n + " tensors do not fit");
    add("metadata count " + n, B().header(0, count).data(24), kInvalid, n + " metadata entries do not fit");
  }
  add("two keys announced, one there", B().header(0, 2).key("a", B::u64).quad(1).data(6), kInvalid, "a metadata key");
  add("two tensors announced, one there", B().header(2, 0).tensor("a", {1}, 24, 0).text("b").word(1).quad(1), kInvalid,
      "ends inside tensor 'b'");
}

void add_metadata(std::vector<HostileFile>& all) {
  const auto add = [&](std::string kind, const B& b, std::string says) {
    all.push_back({std::move(kind), b.bytes(), kInvalid, std::move(says)});
  };
  for (const std::uint64_t length :
       {std::uint64_t{9}, std::uint64_t{1} << 31, std::uint64_t{1} << 63, kMax - 7, kMax}) {
    const std::string n = std::to_string(length);
    add("key length " + n, B().header(0, 1).quad(length).data(8), "a metadata key");
    add("string length " + n, B().header(0, 1).key("k", B::string).quad(length).data(8), "a metadata string");
    add("string in array, length " + n,
        B().header(0, 1).key("k", B::array).word(B::string).quad(1).quad(length).data(8), "array of strings");
    add("tensor name length " + n, B().header(1, 0).quad(length).data(32).data(0), length == 9 ? "'" : "a tensor name");
  }
  for (std::uint32_t type = 0; type < 13; ++type) {
    for (const std::uint64_t length : {std::uint64_t{9}, std::uint64_t{1} << 61, std::uint64_t{1} << 63, kMax}) {
      add("array of " + std::to_string(length) + " of type " + std::to_string(type),
          B().header(0, 1).key("k", B::array).word(type).quad(length).data(8), std::to_string(length) + " elements");
    }
  }
  add("value type 13", B().header(0, 1).key("k", 13).data(40), "metadata type 13 is unknown");
  add("value type 2^32-1", B().header(0, 1).key("k", 0xffffffff).data(40), "metadata type 4294967295 is unknown");
  add("element type 13", B().header(0, 1).key("k", B::array).word(13).quad(0), "element type 13 is unknown");
  add("bool 2", B().header(0, 1).key("k", B::boolean).byte(2), "2 is not a bool");
  add("bool 255 in an array", B().header(0, 1).key("k", B::array).word(B::boolean).quad(3).byte(1).byte(0).byte(255),
      "255 is not a bool");
  add("the same key twice", B().header(0, 3).key("k", B::u8).byte(1).key("j", B::u8).byte(1).key("k", B::i8).byte(1),
      "key 'k' appears twice");
  B deep;
  deep.header(0, 1).key("k", B::array);
  for (int i = 0; i < 10000; ++i) deep.word(B::array).quad(1);
  add("arrays nested 10000 deep", deep.word(B::u8).quad(0), "nested deeper than 4");
  B wide;
  wide.header(0, 1).key("k", B::array).word(B::array).quad(10000);
  for (int i = 0; i < 9999; ++i) wide.word(B::u8).quad(0);
  add("arrays in arrays, the last one missing", wide.data(11), "does not fit");
}

void add_alignments(std::vector<HostileFile>& all) {
  const auto add = [&](std::string kind, const B& b, std::string says) {
    all.push_back({std::move(kind), b.bytes(), kInvalid, std::move(says)});
  };
  for (const std::uint64_t alignment : {0u, 3u, 33u, 1u << 21, 1u << 30, 0x80000000u, 0xffffffffu}) {
    add("alignment " + std::to_string(alignment),
        B().header(1, 1).alignment(alignment).tensor("x", {1}, 24, 0).pad().data(64),
        "alignment is " + std::to_string(alignment));
  }
  add("alignment 2^63", B().header(0, 1).key("general.alignment", B::u64).quad(std::uint64_t{1} << 63), "alignment is");
  add("alignment of type i32", B().header(0, 1).key("general.alignment", B::i32).word(32), "not an unsigned integer");
  add("alignment of type string", B().header(0, 1).key("general.alignment", B::string).text("32"),
      "not an unsigned integer");
  add("alignment of type f32", B().header(0, 1).key("general.alignment", B::f32).word(0x42000000),
      "not an unsigned integer");
  add("alignment in an array", B().header(0, 1).key("general.alignment", B::array).word(B::u32).quad(1).word(32),
      "not an unsigned integer");
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{31}, std::uint64_t{33}, kMax}) {
    add("offset " + std::to_string(offset), B().header(1, 0).tensor("x", {1}, 24, offset).pad().data(64),
        "not a multiple of 32");
  }
}

void add_tensors(std::vector<HostileFile>& all) {
  const auto add = [&](std::string kind, const B& b, std::string says) {
    all.push_back({std::move(kind), b.bytes(), kInvalid, std::move(says)});
  };
  const auto one = [](const std::vector<std::uint64_t>& ne, std::uint32_t type, std::uint64_t offset = 0) {
    return B().header(1, 0).tensor("x", ne, type, offset).pad().data(256);
  };
  for (const std::uint64_t dims : {std::uint64_t{5}, std::uint64_t{64}, std::uint64_t{0xffffffff}}) {
    B b;
    b.header(1, 0).text("x").word(dims);
    for (int i = 0; i < 64; ++i) b.quad(1);
    add("n_dims " + std::to_string(dims), b.word(0).quad(0).pad().data(64), std::to_string(dims) + " dimensions");
  }
  const std::uint64_t two32 = std::uint64_t{1} << 32, two63 = std::uint64_t{1} << 63;
  add("dimension 2^63", one({two63}, 24), "overflows");
  add("dimension 2^63 of f32", one({two63}, 0), "overflows");
  add("dimension 2^64-1", one({kMax}, 24), "overflows");
  add("dimension 2^64-32 of q4_0", one({kMax - 31}, 2), "overflows");
  add("product 2^64 wraps to 0", one({two32, two32}, 24), "overflows");
  add("product 2^64 wraps to 0, in four", one({1 << 16, 1 << 16, 1 << 16, 1 << 16}, 2), "overflows");
  add("product wraps to 32", one({32, (std::uint64_t{1} << 59) + 1}, 24), "overflows");
  add("product wraps, then times zero", one({two63, 2, 0}, 24), "overflows");
  add("product of nothing wraps", one({0, two63, 2}, 24), "overflows");
  add("product wraps for an unknown type", one({two32, two32}, 77), "overflows");
  add("bytes wrap to 0", one({std::uint64_t{1} << 62}, 0), "overflows");
  add("bytes of f64 wrap to 0", one({std::uint64_t{1} << 61}, 28), "overflows");
  add("2^42+1 elements", one({(std::uint64_t{1} << 42) + 1}, 0), "leaves the 256 bytes");
  add("2^42+1 rows", one({1, (std::uint64_t{1} << 42) + 1}, 24), "leaves the 256 bytes");
  add("one byte too many", one({257}, 24), "leaves the 256 bytes");
  add("one block too many", one({32, 15}, 2), "leaves the 256 bytes");
  add("offset at the end", one({1}, 24, 256), "leaves the 256 bytes");
  add("offset past the end", one({1}, 24, 288), "leaves the 256 bytes");
  add("offset past the end of an empty tensor", one({0}, 24, 288), "leaves the 256 bytes");
  add("offset 2^64-32", one({64}, 24, kMax - 31), "leaves the 256 bytes");
  add("offset plus bytes wraps", one({(std::uint64_t{1} << 62) - 1}, 0, 32), "leaves the 256 bytes");
  add("K of half a block", one({16, 2}, 2), "no whole blocks of q4_0 (32)");
  add("K of half a super-block", one({128}, 12), "no whole blocks of q4_k (256)");
  add("a scalar of blocks", one({}, 8), "no whole blocks of q8_0 (32)");
  const auto two = [](std::uint64_t offset_a, std::uint64_t offset_b) {
    return B().header(2, 0).tensor("a", {8, 8}, 24, offset_a).tensor("b", {40}, 24, offset_b).pad().data(256);
  };
  add("the same data twice", two(0, 0), "overlap");
  add("overlap at the end", two(0, 32), "'a' and 'b' overlap at offset 32");
  add("overlap at the start", two(32, 0), "'b' and 'a' overlap at offset 32");
  add("the same name twice",
      B().header(3, 0).tensor("x", {1}, 24, 0).tensor("y", {1}, 24, 32).tensor("x", {1}, 24, 64).pad().data(96),
      "name 'x' appears twice");
  add("no data at all", B().header(1, 0).tensor("x", {1}, 24, 0), "leaves the 0 bytes");
  add("ends in the padding before the data", B().header(1, 0).tensor("x", {1}, 24, 0).pad(4).data(4), "'x'");
  add("unprintable name", B().header(1, 0).tensor("\n\x1b[31m\xff" + std::string(100, 'y'), {1}, 24, 32).pad(),
      "'??[31m?" + std::string(57, 'y') + "...'");
}

}  // namespace

std::vector<HostileFile> hostile_corpus() {
  std::vector<HostileFile> all;
  add_headers(all);
  add_metadata(all);
  add_alignments(all);
  add_tensors(all);
  return all;
}

}  // namespace nibblas::test
