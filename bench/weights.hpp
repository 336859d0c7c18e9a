// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cases.hpp"
#include "copies.hpp"
#include "nibblas/buffer.hpp"
#include "nibblas/matmul.hpp"
#include "nibblas/packed.hpp"

namespace nibblas::bench {

/// The weights of the present case, in as many copies as its timing rotates through.
class WeightBank {
 public:
  /// Makes or finds the weights of c. Cheap when the case before had the same.
  Status load(const Case& c, Context& context);

  const WeightView& original() const { return original_; }
  std::size_t copies() const { return arena_.copies(); }
  /// What multiply(copy) reads: the image of the packed weights, or the rows.
  std::span<const std::byte> bytes(std::size_t copy) const { return {arena_.at(copy), image_bytes_}; }
  Status multiply(std::size_t copy, ConstMatrixView x, MatrixView y, Context& context, const MatmulOptions& options);
  /// Pushes everything out of the caches if the copies are too few to do so by themselves.
  void flush_if_needed() const { arena_.flush_if_needed(); }

 private:
  Status load_source(const Case& c);
  Status copy_image(const Case& c, Context& context);

  const WeightSource* source_ = nullptr;
  const Kernel* kernel_ = nullptr;
  bool packed_ = false;
  bool ready_ = false;
  WeightView original_;
  Buffer made_;
  CopyArena arena_;
  std::size_t image_bytes_ = 0;  ///< of each copy
  std::vector<WeightView> views_;
  std::vector<PackedWeights> panels_;
};

}  // namespace nibblas::bench
