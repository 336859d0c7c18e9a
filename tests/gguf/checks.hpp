// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "nibblas/gguf.hpp"

namespace nibblas::test {

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(chars.size());
  std::transform(chars.begin(), chars.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

/// The CRC-32 of zip and PNG.
inline std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

/// Bytes of N rows of K weights by the table of the format description; 128 bits wide, so that nothing wraps.
inline unsigned __int128 expected_bytes(const WeightView& w) {
  const auto rows_of = [&](std::size_t elements, std::size_t bytes) {
    EXPECT_EQ(w.K % elements, 0u);
    return static_cast<unsigned __int128>(w.N) * (w.K / elements * bytes);
  };
  switch (w.dtype) {
    case DType::f32:
      return rows_of(1, 4);
    case DType::f16:
    case DType::bf16:
      return rows_of(1, 2);
    case DType::q4_0:
      return rows_of(32, 18);
    case DType::q8_0:
      return rows_of(32, 34);
    case DType::q4_k:
      return rows_of(256, 144);
    case DType::q5_k:
      return rows_of(256, 176);
    case DType::q6_k:
      return rows_of(256, 210);
    case DType::tq1_0:
      return rows_of(256, 54);
    case DType::tq2_0:
      return rows_of(256, 66);
    case DType::bitnet_b158:
      break;
  }
  ADD_FAILURE() << "a format that GGUF has no id for";
  return 0;
}

/// What every file that was accepted promises: all data inside `bytes` and apart, names found, views as large as their
/// shape. Reads from every page of every tensor, so that a span that leaves the file faults.
inline void check_promises(const gguf::File& file, std::span<const std::byte> bytes) {
  std::vector<std::pair<const std::byte*, const std::byte*>> extents;
  for (const gguf::Tensor& t : file.tensors()) {
    EXPECT_LE(t.ne.size(), 4u);
    EXPECT_EQ(file.find(t.name), &t);
    if (!t.data.empty()) {
      EXPECT_GE(t.data.data(), bytes.data());
      EXPECT_LE(t.data.data() + t.data.size(), bytes.data() + bytes.size());
      extents.emplace_back(t.data.data(), t.data.data() + t.data.size());
      const auto read = [](const volatile std::byte& b) { return b; };
      for (std::size_t i = 0; i < t.data.size(); i += 1024) read(t.data[i]);
      read(t.data.back());
    }
    const auto w = t.weights();
    if (!w) {
      EXPECT_EQ(w.status().code(), StatusCode::unsupported);
      EXPECT_FALSE(w.status().message().empty());
      continue;
    }
    EXPECT_EQ(w->data, t.data.data());
    EXPECT_EQ(w->row_stride, 0u);
    EXPECT_EQ(w->K, t.ne.empty() ? 1u : t.ne[0]);
    EXPECT_EQ(w->bytes, t.data.size());
    EXPECT_TRUE(expected_bytes(*w) == w->bytes) << t.name;
  }
  std::sort(extents.begin(), extents.end());
  for (std::size_t i = 1; i < extents.size(); ++i) EXPECT_LE(extents[i - 1].second, extents[i].first);
  for (const gguf::KeyValue& kv : file.metadata()) EXPECT_EQ(file.find_key(kv.key), &kv);
}

}  // namespace nibblas::test
