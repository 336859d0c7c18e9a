// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "nibblas/formats.hpp"
#include "parity/aligned_bytes.hpp"
#include "parity/product.hpp"

// The two layouts that kernels share, against their description in panel.hpp written down a second time here. Weights
// packed and activations prepared by one provider are read by all others, so every byte counts.

namespace nibblas::test {
namespace {

struct Piece {
  std::size_t offset, count, unit;
};

/// How panel.hpp orders the parts of a file's block; none for ternary formats.
std::vector<Piece> pieces(DType t) {
  switch (t) {
    case DType::f32:
      return {{0, 1, 4}};
    case DType::f16:
    case DType::bf16:
      return {{0, 1, 2}};
    case DType::q8_0:
      return {{2, 8, 4}, {0, 1, 2}};
    case DType::q4_0:
      return {{2, 4, 4}, {0, 1, 2}};
    case DType::q4_k:
      return {{16, 32, 4}, {4, 12, 1}, {0, 1, 2}, {2, 1, 2}};
    case DType::q5_k:
      return {{48, 32, 4}, {16, 8, 4}, {4, 12, 1}, {0, 1, 2}, {2, 1, 2}};
    case DType::q6_k:
      return {{0, 32, 4}, {128, 16, 4}, {192, 16, 1}, {208, 1, 2}};
    default:
      return {};
  }
}

/// Row r of a panel, put together again as it was in the file.
Bytes unpack_row(DType t, const std::byte* panel, std::size_t r, std::size_t K) {
  const std::size_t size = info(t).block_bytes;
  Bytes row(K / info(t).block_elems * size);
  for (std::size_t b = 0; b < row.size() / size; ++b) {
    const std::byte* part = panel + b * panel_layout(t).block_bytes;
    for (const Piece& p : pieces(t)) {
      for (std::size_t i = 0; i < p.count; ++i, part += 16 * p.unit) {
        std::memcpy(row.data() + b * size + p.offset + i * p.unit, part + r * p.unit, p.unit);
      }
    }
  }
  return row;
}

/// Element k of row r of a ternary panel: 16 codes a lane, k = 16 j + 4 g + i in bits 2 g of byte i of word j.
float ternary_element(DType t, const std::byte* panel, std::size_t r, std::size_t k, std::size_t K) {
  const PanelLayout& layout = panel_layout(t);
  const std::byte* block = panel + k / layout.block_elems * layout.block_bytes;
  float scale = 0;
  if (t == DType::bitnet_b158) {
    std::memcpy(&scale, panel + layout.blocks(K) * layout.block_bytes + 4 * r, sizeof scale);
  } else {
    std::uint16_t h;
    std::memcpy(&h, block + 16 * 64 + 2 * r, sizeof h);
    scale = f16_to_f32(h);
  }
  k %= layout.block_elems;
  const std::byte byte = block[k / 16 * 64 + r * 4 + k % 4];
  return static_cast<float>(static_cast<int>(std::to_integer<unsigned>(byte) >> (2 * (k % 16 / 4)) & 3u) - 1) * scale;
}

Bytes pack(const Kernel& kernel, const WeightView& w, std::size_t row0, std::size_t k0, std::size_t k1) {
  const PanelLayout& layout = panel_layout(w.dtype);
  AlignedBytes out(layout.range_bytes(k0, k1) + (k1 == w.K ? layout.tail_bytes : 0));
  kernel.tiled.pack({&w, row0, k0, k1, out.data()});
  EXPECT_TRUE(out.rest_intact()) << kernel.name;
  return out.bytes();
}

std::vector<std::size_t> pack_lengths(DType t) {
  if (info(t).block_elems != 1) return {info(t).block_elems, 5 * info(t).block_elems};
  return {1, 2, 3, 4, 5, 31, 32, 33, 64, 100, 161};
}

class Layouts : public testing::TestWithParam<Candidate> {};

TEST_P(Layouts, PanelsHoldTheRowsOfTheFile) {
  const Kernel& kernel = *GetParam().kernel;
  const DType t = kernel.key.weights;
  for (const std::size_t K : pack_lengths(t)) {
    const Weights w(t, 37, K, WeightFill::blocks, K);
    const std::vector<float> values = decode(w.view());
    for (std::size_t row0 = 0; row0 < w.N(); row0 += kPanelRows) {
      const Bytes panel = pack(kernel, w.view(), row0, 0, K);
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        const bool real = row0 + r < w.N();
        if (pieces(t).empty()) {
          for (std::size_t k = 0; k < panel_layout(t).blocks(K) * panel_layout(t).block_elems; ++k) {
            const float v = real && k < K ? values[(row0 + r) * K + k] : 0;
            ASSERT_EQ(ternary_element(t, panel.data(), r, k, K), v) << row0 + r << ' ' << k;
          }
        } else {
          const std::size_t size = K / info(t).block_elems * info(t).block_bytes;
          const std::byte* row = w.bytes().data() + (row0 + r) * size;
          ASSERT_EQ(unpack_row(t, panel.data(), r, K), real ? Bytes(row, row + size) : Bytes(size)) << row0 + r;
        }
      }
    }
  }
}

TEST_P(Layouts, EveryRangeOfEveryPanelHasTheScalarBytes) {
  const Kernel& kernel = *GetParam().kernel;
  const Kernel& scalar = *scalar_kernel(GetParam().key()).kernel;
  const DType t = kernel.key.weights;
  const std::size_t step = info(t).block_elems == 1 ? 32 : info(t).block_elems;
  for (const std::size_t K : pack_lengths(t)) {
    for (const WeightFill fill : {WeightFill::blocks, WeightFill::bytes_ff, WeightFill::bytes_5a, WeightFill::tiny}) {
      for (const std::size_t N : {1u, 15u, 16u, 33u}) {
        const Weights w(t, N, K, fill, K);
        for (std::size_t row0 = 0; row0 < N; row0 += kPanelRows) {
          for (std::size_t k0 = 0; k0 < K; k0 += step) {
            for (std::size_t k1 = k0 + step; k1 < K + step; k1 += step) {
              const std::size_t end = std::min(k1, K);
              ASSERT_EQ(pack(kernel, w.view(), row0, k0, end), pack(scalar, w.view(), row0, k0, end))
                  << "N " << N << " K " << K << " row " << row0 << " from " << k0 << " to " << end;
            }
          }
        }
      }
    }
  }
}

TEST_P(Layouts, StridedRowsPackLikeDenseOnes) {
  const Kernel& kernel = *GetParam().kernel;
  const DType t = kernel.key.weights;
  if (t == DType::bitnet_b158) return;  // one stream of codes has no row stride
  for (const std::size_t K : pack_lengths(t)) {
    const Weights w(t, 21, K, WeightFill::blocks, K);
    const StridedWeights strided(w, 3);
    for (const std::size_t row0 : {0u, 16u}) {
      EXPECT_EQ(pack(kernel, strided.view, row0, 0, K), pack(kernel, w.view(), row0, 0, K)) << K;
    }
  }
}

TEST_P(Layouts, ImagesHaveTheScalarBytes) {
  const Candidate& c = GetParam();
  ThreadPool pool(3);
  for (const std::size_t K : pack_lengths(c.kernel->key.weights)) {
    const Weights w(c.kernel->key.weights, 50, K, WeightFill::blocks, K);
    Context context;
    context.registry = &registry();
    const auto one = PackedWeights::pack(w.view(), context, options_for(scalar_kernel(c.key())));
    context.executor = &pool;
    const auto other = PackedWeights::pack(w.view(), context, options_for(c));
    ASSERT_TRUE(one && other);
    EXPECT_EQ(Bytes(one->bytes().begin(), one->bytes().end()), Bytes(other->bytes().begin(), other->bytes().end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Layouts, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
