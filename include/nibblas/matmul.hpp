// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nibblas/buffer.hpp"
#include "nibblas/cpu.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/executor.hpp"
#include "nibblas/export.hpp"
#include "nibblas/packed.hpp"
#include "nibblas/registry.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

namespace nibblas {

/// What a product runs with. One product at a time per context; contexts may share a registry and an executor.
struct Context {
  KernelRegistry* registry = nullptr;  ///< null: KernelRegistry::shared()
  Executor* executor = nullptr;        ///< null: serial_executor()
  const CacheInfo* caches = nullptr;   ///< null: those of the registry's CPU
  Workspace workspace = {};
};

/// Forces parts of the tile plan; 0 = planned. Results never depend on it.
struct TileOverride {
  std::size_t row_block = 0;  ///< panels
  std::size_t k_chunk = 0;    ///< elements, rounded up to the kernel's k_step
  std::size_t m_splits = 0;
};

struct MatmulStats {
  std::uint64_t weight_bytes = 0;  ///< bytes of W streamed from memory by the plan: each block's first touch
  const Kernel* kernel = nullptr;
};

struct MatmulOptions {
  Compute compute = Compute::automatic;
  std::string_view provider = {};  ///< only this one
  bool allow_tolerance = false;
  TileOverride tiles = {};
  MatmulStats* stats = nullptr;  ///< filled when not null
  CpuFeatures require = {};      ///< only a kernel that uses all of these, else a status: pins an instruction set
};

/// Rows of X turned into what the kernels of one compute read; usable with weights of any format that allows the
/// compute, by any provider. Layout: panel.hpp.
class NIBBLAS_API Activations {
 public:
  Activations() noexcept = default;
  /// What was moved from is empty.
  Activations(Activations&& other) noexcept { swap(other); }
  Activations& operator=(Activations&& other) noexcept {
    Activations taken(std::move(other));
    swap(taken);
    return *this;
  }
  void swap(Activations& other) noexcept;
  Compute compute() const noexcept { return compute_; }
  std::size_t M() const noexcept { return M_; }
  std::size_t K() const noexcept { return K_; }
  std::size_t tiles() const noexcept { return tiles_; }
  /// First token of tile i; first_token(tiles()) == M. Tiles are about equal and start at even tokens, which kernels
  /// that take two at once like.
  std::size_t first_token(std::size_t i) const noexcept {
    const std::size_t equal = i * (M_ / tiles_) + (i < M_ % tiles_ ? i : M_ % tiles_);
    return equal == M_ ? M_ : equal + equal % 2;
  }
  std::size_t tokens(std::size_t i) const noexcept { return first_token(i + 1) - first_token(i); }
  const std::byte* tile(std::size_t i) const noexcept;

  /// Bytes of M prepared rows of K elements; SIZE_MAX when that is more than any memory.
  static std::size_t bytes(Compute compute, std::size_t M, std::size_t K) noexcept;

 private:
  friend struct ActivationsBuilder;
  Compute compute_ = Compute::f32;
  std::size_t M_ = 0;
  std::size_t K_ = 0;
  std::size_t tiles_ = 1;
  const std::byte* data_ = nullptr;
  Buffer buffer_;
};

/// Prepares X (M x K) into `out`, whose memory is reused. compute must not be automatic. X must not lie in that memory.
NIBBLAS_API Status prepare(ConstMatrixView X, Compute compute, Activations& out, Context& context) noexcept;

/// Y[M x N] = X[M x K] * W[N x K]^T. Y is overwritten, and untouched on error, unless a whole kernel from outside fails
/// after it has written. M = 0 or N = 0: no-op; K = 0: zeros. Y and the workspace share no memory with each other, W or
/// X: parts of them are written while others are still to be read. Strided views may be interleaved. Errors:
/// shape_mismatch, buffer_too_small, unsupported, invalid_argument (an operand that shares memory too), out_of_memory,
/// not_found (no such provider), invalid_data (a packed image of another layout version).
NIBBLAS_API Status matmul(const WeightView& W, ConstMatrixView X, MatrixView Y, Context& context,
                          const MatmulOptions& options = {}) noexcept;
NIBBLAS_API Status matmul(const PackedWeights& W, ConstMatrixView X, MatrixView Y, Context& context,
                          const MatmulOptions& options = {}) noexcept;
/// The same with X prepared; options.compute is X's own, or automatic.
NIBBLAS_API Status matmul(const WeightView& W, const Activations& X, MatrixView Y, Context& context,
                          const MatmulOptions& options = {}) noexcept;
NIBBLAS_API Status matmul(const PackedWeights& W, const Activations& X, MatrixView Y, Context& context,
                          const MatmulOptions& options = {}) noexcept;

/// y[N] = W[N x K] * x[K]; all else as matmul().
NIBBLAS_API Status gemv(const WeightView& W, std::span<const float> x, std::span<float> y, Context& context,
                        const MatmulOptions& options = {}) noexcept;
NIBBLAS_API Status gemv(const PackedWeights& W, std::span<const float> x, std::span<float> y, Context& context,
                        const MatmulOptions& options = {}) noexcept;

/// Bytes of workspace that a matmul of W with M rows needs in this context; of a whole kernel from outside, which takes
/// what it wants itself, 0.
NIBBLAS_API Result<std::size_t> workspace_size(const WeightView& W, std::size_t M, Context& context,
                                               const MatmulOptions& options = {}) noexcept;
NIBBLAS_API Result<std::size_t> workspace_size(const PackedWeights& W, std::size_t M, Context& context,
                                               const MatmulOptions& options = {}) noexcept;

/// Which kernel a product of W with M rows would run, and why each other lost.
NIBBLAS_API std::string explain(const WeightView& W, std::size_t M, Context& context,
                                const MatmulOptions& options = {});
NIBBLAS_API std::string explain(const PackedWeights& W, std::size_t M, Context& context,
                                const MatmulOptions& options = {});

}  // namespace nibblas
