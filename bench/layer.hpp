// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "copies.hpp"
#include "engines.hpp"
#include "limits/limits.hpp"
#include "metrics.hpp"
#include "nibblas/packed.hpp"
#include "options.hpp"

// The products of a transformer layer, as an engine runs them: weights packed, prepared activations shared.

namespace nibblas::bench {

/// One weight matrix of a layer.
struct LayerMatrix {
  std::string name;
  std::size_t N = 0;
  std::size_t K = 0;
};

enum class LayerBlock : std::uint8_t { swiglu, projections };
std::string_view to_string(LayerBlock block) noexcept;

/// gate, up, down; or q, k, v, output.
std::vector<LayerMatrix> matrices_of(LayerBlock block, const LayerOptions& options);

/// The weights of one block, packed, in as many copies as timing rotates through.
class LayerWeights {
 public:
  Status load(DType dtype, const std::vector<LayerMatrix>& matrices, bool hot, Context& context);
  std::size_t copies() const { return arena_.copies(); }
  void flush_if_needed() const { arena_.flush_if_needed(); }
  const PackedWeights& packed(std::size_t copy, std::size_t matrix) const { return packed_[copy * count_ + matrix]; }
  const WeightView& original(std::size_t matrix) const { return originals_[matrix]; }

 private:
  std::size_t count_ = 0;
  std::vector<Buffer> made_;
  std::vector<WeightView> originals_;
  CopyArena arena_;
  std::vector<PackedWeights> packed_;
};

struct LayerCase {
  LayerBlock block = LayerBlock::swiglu;
  DType dtype = DType::f32;
  std::size_t M = 1;
  std::size_t threads = 1;

  std::string name() const;  ///< "swiglu/q4_0/M:16/threads:1"
};

struct LayerResult {
  LayerCase spec;
  std::string why_not;  ///< it was not timed
  double seconds = 0;   ///< median
  std::size_t repetitions = 0;
  double prepare_share = 0;  ///< of the time: preparing activations
  double silu_share = 0;     ///< of the time: silu(gate) * up
  double rel_l2 = 0;         ///< the worst of its products, on what went into them
  Speed speed;
  std::string kernel;
};

class LayerRunner {
 public:
  LayerRunner(const LayerOptions& options, KernelRegistry& registry) : options_(options), engines_(registry) {}
  /// `kernel` chosen for the format's default compute, `limits` those of c.threads.
  LayerResult run(const LayerCase& c, const Kernel& kernel, const Limits& limits);

 private:
  Status prepare_case(const LayerCase& c, Context& context);
  Status product(std::size_t copy, std::size_t matrix, const Activations& x, Context& context);
  Status run_block(const LayerCase& c, std::size_t copy, Context& context);
  Status run_swiglu(std::size_t copy, Context& context);
  Status run_projections(std::size_t copy, Context& context);
  Status prepare_timed(ConstMatrixView x, Activations& out, Context& context);
  Status verify(const LayerCase& c, LayerResult& out) const;
  Status verify_silu() const;
  Status time(const LayerCase& c, const Kernel& kernel, const Limits& limits, Context& context, LayerResult& out);

  const LayerOptions& options_;
  Engines engines_;
  LayerWeights weights_;
  LayerBlock loaded_block_ = LayerBlock::swiglu;
  DType loaded_dtype_ = DType::f32;
  bool loaded_ = false;
  Compute compute_ = Compute::f32;
  FloatMatrix x_;               ///< into the block
  FloatMatrix middle_;          ///< into its last matrix: silu(gate) * up, or what attention gives
  std::vector<FloatMatrix> y_;  ///< of each matrix
  Activations x_prepared_;
  Activations middle_prepared_;
  double prepare_seconds_ = 0;
  double silu_seconds_ = 0;
};

/// out = silu(gate) * up, rows shared among the executor's threads.
void silu_times(ConstMatrixView gate, ConstMatrixView up, MatrixView out, Executor& executor);

}  // namespace nibblas::bench
