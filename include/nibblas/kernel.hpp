// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "nibblas/cpu.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/panel.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

namespace nibblas {

class Executor;
class Workspace;

/// gemv is matmul with M = 1. A kernel offered for matmul also serves gemv; one offered for gemv serves only that.
enum class Op : std::uint8_t { matmul, gemv };
inline constexpr std::size_t kOpCount = 2;

constexpr std::string_view to_string(Op op) noexcept { return op == Op::matmul ? "matmul" : "gemv"; }

/// What is asked for. `compute` is never `automatic` here.
struct KernelKey {
  Op op = Op::matmul;
  DType weights = DType::f32;
  Compute compute = Compute::f32;
  constexpr bool operator==(const KernelKey&) const = default;
};

/// canonical: the bits of docs/numerics.md. tolerance: something near them; chosen only when forced or opted in.
enum class Results : std::uint8_t { canonical, tolerance };

/// One tile of prepared activations from rows of X.
struct PrepareArgs {
  const float* x;      ///< first of `tokens` rows
  std::size_t stride;  ///< elements from row to row
  std::size_t tokens;  ///< 1 .. tile_tokens(compute)
  std::size_t K;
  std::byte* out;  ///< activation_tile_bytes(compute, tokens, K), 64-byte aligned
};

/// Part of one panel from rows as they lie in the file.
struct PackArgs {
  const WeightView* w;
  std::size_t row0;  ///< first row of the panel; rows past N become zero weights
  std::size_t k0;    ///< multiple of the layout's block_elems
  std::size_t k1;    ///< multiple of the layout's block_elems, or K; at K the panel's tail is written too
  std::byte* out;    ///< where block k0 goes, 32-byte aligned: panels of some formats are an odd multiple of that
};

/// 16 whole rows as they lie in the file times a tile of one token.
struct RowsArgs {
  const WeightView* w;
  std::size_t row0;    ///< row0 + 16 <= N
  const std::byte* x;  ///< the prepared tile
  float* state;        ///< [state_floats][16]: the sums go to the first 16, as after the last K range of TileArgs
};

/// Some panels times one tile of tokens over K range [k0, k1). Called for ascending ranges that cover [0, K); between
/// the calls all that is known lies in `state`.
struct TileArgs {
  const std::byte* const* panels;  ///< n_panels pointers, each to block k0 of its panel
  std::size_t n_panels;            ///< 1 .. kMaxTilePanels
  const std::byte* x;              ///< the prepared tile, from its start
  std::size_t tokens;              ///< tokens in that tile
  std::size_t K;
  std::size_t k0;  ///< multiple of k_step; 0 starts afresh: state is written, not read
  std::size_t k1;  ///< multiple of k_step, or K; at K the results are finished
  /// [n_panels][tokens][state_floats][16], 64-byte aligned. When k1 == K the first 16 floats of each (panel, token)
  /// are the finished Y.
  float* state;
  /// What is read next, after this call: worth asking for in passing. Nothing depends on it; may be empty.
  const std::byte* ahead = nullptr;
  std::size_t ahead_bytes = 0;
};
inline constexpr std::size_t kMaxTilePanels = 64;

/// A kernel on panels: knows neither threads, nor caches, nor where Y lies. Every function is total on its
/// preconditions, writes only its output and reads only what is named.
struct TiledKernel {
  std::size_t k_step = 0;        ///< elements; K ranges start at its multiples; a multiple of the layout's block_elems
  std::size_t state_floats = 1;  ///< floats of state per (row, token)
  std::size_t k_max = SIZE_MAX;  ///< longest K whose integer sums are proved not to overflow
  std::size_t streams = 1;       ///< panels that are best read side by side when few tokens share each weight
  std::size_t streams_of_one = 0;  ///< the same for a single token; 0 = streams
  void (*prepare)(const PrepareArgs&) noexcept = nullptr;
  void (*pack)(const PackArgs&) noexcept = nullptr;
  void (*tile)(const TileArgs&) noexcept = nullptr;
  /// Optional: what pack and tile would make of a panel and one token, without the panel.
  void (*rows)(const RowsArgs&) noexcept = nullptr;
};

/// A whole product on the caller's own views (already checked).
struct MatmulArgs {
  const WeightView& w;      ///< data is null when only `packed` exists
  const std::byte* packed;  ///< weights in this kernel's own layout, or null
  const ConstMatrixView& x;
  const MatrixView& y;
  Executor& executor;
  Workspace& workspace;
};

/// A kernel that does everything itself: a vendor BLAS, a gemv on raw codes, a device.
struct WholeKernel {
  Status (*run)(const MatmulArgs&, void* user) = nullptr;
  void* user = nullptr;
  /// Optional own packing: both or neither. layout_id >= kFirstForeignLayout.
  std::uint32_t layout_id = 0;
  std::uint16_t layout_version = 0;
  Result<std::size_t> (*packed_bytes)(DType, std::size_t N, std::size_t K, void* user) = nullptr;
  Status (*pack)(const WeightView&, std::byte* out, void* user) = nullptr;
};

/// What is offered: plain data. Either `tiled` or `whole` is filled.
struct Kernel {
  KernelKey key;
  const char* name = "";  ///< "matmul.q4_0.int8.avx512": op.weights.compute.provider, unique in a registry
  Results results = Results::canonical;
  CpuFeatures needs;
  TiledKernel tiled;
  WholeKernel whole;

  constexpr bool is_tiled() const noexcept { return tiled.tile != nullptr; }
  constexpr bool serves(const KernelKey& k) const noexcept {
    return key.weights == k.weights && key.compute == k.compute && (key.op == k.op || key.op == Op::matmul);
  }
};

}  // namespace nibblas
