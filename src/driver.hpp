// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nibblas/matmul.hpp"
#include "product.hpp"
#include "tiling.hpp"

namespace nibblas {

/// A product on a tiled kernel with everything decided: run() only works it off.
struct TiledProduct {
  const Kernel* kernel = nullptr;
  WeightSource weights;
  TileInput input;
  TilePlan plan;
  WorkerScratch scratch;

  std::size_t scratch_bytes() const noexcept { return plan.threads * scratch.total(); }
};

TiledProduct make_product(const Kernel& kernel, const WeightSource& w, std::size_t M, const Context& context,
                          const TileOverride& force) noexcept;

/// `scratch`: product.scratch_bytes(), 64-byte aligned. Returns the bytes of W that were brought in from memory: each
/// range of each panel counts once for every run of token tiles that starts on it.
std::uint64_t run(const TiledProduct& product, const Activations& x, const MatrixView& y, std::byte* scratch,
                  Executor& executor) noexcept;

}  // namespace nibblas
