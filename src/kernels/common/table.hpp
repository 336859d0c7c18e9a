// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/features.hpp"
#include "nibblas/kernel.hpp"

// What the kernels of one (family, compute) have in common, so that a table line is a name and three functions.

namespace nibblas {
namespace {

struct KernelFamily {
  Compute compute;
  std::size_t k_step;
  std::size_t state_floats;
  std::size_t k_max = SIZE_MAX;
};
constexpr KernelFamily kFloatFamily{Compute::f32, 64, 2};
constexpr KernelFamily kBlock32F32{Compute::f32, 32, 1};
constexpr KernelFamily kBlock256F32{Compute::f32, 256, 1};
constexpr KernelFamily kBlock32Int8{Compute::int8, 32, 1};
constexpr KernelFamily kBlock256Int8{Compute::int8, 256, 1};
constexpr KernelFamily kBlock256Token{Compute::int8_token, 256, 1};
/// One int32 sum over all K: 3 * 127 * K < 2^31, whatever the code bytes are.
constexpr KernelFamily kTensorToken{Compute::int8_token, 32, 1, 5'592'405 / 32 * 32};

/// Panels that memory streams side by side when each weight serves few tokens. One stream reaches three quarters of the
/// bandwidth, four all of it; but with super-blocks, whose scales are a stream of their own, two are faster (q4_k 34
/// against 29 GB/s, q6_k 30 against 18).
constexpr std::size_t streams_of(DType weights) { return info(weights).block_elems == 256 ? 2 : 4; }
/// A single token in int8, where a register takes all rows of a panel: one column of 4 or 5 bits is work enough for a
/// core, and a panel alone, its prefetches further ahead, reads at 0.97 (q4_k) and 0.93 of the bandwidth, two at 0.83
/// and 0.86. q6_k has too much to do for one column.
constexpr std::size_t int8_streams_of_one(DType weights, std::size_t lanes) {
  const bool alone = lanes == kPanelRows && (weights == DType::q4_k || weights == DType::q5_k);
  return alone ? 1 : streams_of(weights);
}

constexpr Kernel tiled_kernel(const char* name, DType weights, KernelFamily family,
                              void (*prepare)(const PrepareArgs&) noexcept, void (*pack)(const PackArgs&) noexcept,
                              void (*tile)(const TileArgs&) noexcept, std::size_t streams = 1) {
  Kernel k;
  k.key = {Op::matmul, weights, family.compute};
  k.name = name;
  k.needs = compiled_features();
  k.tiled.k_step = family.k_step;
  k.tiled.state_floats = family.state_floats;
  k.tiled.k_max = family.k_max;
  k.tiled.streams = streams;
  k.tiled.prepare = prepare;
  k.tiled.pack = pack;
  k.tiled.tile = tile;
  return k;
}

}  // namespace
}  // namespace nibblas
