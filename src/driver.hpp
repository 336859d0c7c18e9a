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
  std::size_t workers = 1;  ///< of all items together

  /// SIZE_MAX: more than any memory.
  std::size_t scratch_bytes() const noexcept { return saturating_mul(workers, scratch.total()); }
};

TiledProduct make_product(const Kernel& kernel, const WeightSource& w, std::size_t M, const Context& context,
                          const TileOverride& force) noexcept;
/// The product that each of `count` of that shape is, when they share the threads.
TiledProduct make_product_of(std::size_t count, const Kernel& kernel, const WeightSource& w, std::size_t M,
                             const Context& context, const TileOverride& force) noexcept;

/// What is multiplied: the products of a stack differ in nothing else.
struct ProductItem {
  WeightSource weights;
  const Activations* x = nullptr;
  MatrixView y;
};

/// Where the products of a stack are.
class ProductItems {
 public:
  explicit ProductItems(std::size_t count) noexcept : count_(count) {}
  std::size_t count() const noexcept { return count_; }
  /// Item i; the views it points to live in `store`.
  struct Store {
    WeightView w;
    Activations x;
  };
  virtual ProductItem at(std::size_t i, Store& store) const noexcept = 0;

 protected:
  ~ProductItems() = default;

 private:
  std::size_t count_;
};

/// Works off all items as one list of tasks. `product` is what they have in common (its own weights are not looked at);
/// `scratch`: product.scratch_bytes(), 64-byte aligned. Returns the bytes of W that were brought in from memory: each
/// range of each panel counts once for every run of token tiles that starts on it.
std::uint64_t run(const TiledProduct& product, const ProductItems& items, std::byte* scratch,
                  Executor& executor) noexcept;
std::uint64_t run(const TiledProduct& product, const Activations& x, const MatrixView& y, std::byte* scratch,
                  Executor& executor) noexcept;

}  // namespace nibblas
