// SPDX-License-Identifier: Apache-2.0
#include "activations.hpp"

#include <algorithm>

#include "fp_environment.hpp"
#include "product.hpp"
#include "status_message.hpp"

namespace nibblas {
namespace {

std::size_t tile_count(Compute compute, std::size_t M) noexcept {
  return std::max<std::size_t>(ceil_div(M, tile_tokens(compute)), 1);
}

std::size_t tile_stride(Compute compute, std::size_t M, std::size_t K) noexcept {
  const std::size_t tokens = std::min(round_up(ceil_div(M, tile_count(compute, M)), 2), M);  // of the largest tile
  return round_up(activation_tile_bytes(compute, tokens, K), 64);
}

struct PrepareJob {
  const Kernel* kernel;
  ConstMatrixView x;
  std::size_t x_stride;
  std::byte* memory;
};

/// Task i: tile i % tiles of matrix i / tiles.
void prepare_tile(void* arg, std::size_t i) noexcept {
  const auto& job = *static_cast<const PrepareJob*>(arg);
  const FpEnvironment env;
  const Compute compute = job.kernel->key.compute;
  const std::size_t M = job.x.rows;
  const std::size_t K = job.x.cols;
  Activations shape;
  ActivationsBuilder::place(shape, M, K, compute, nullptr);
  const std::size_t matrix = i / shape.tiles();
  const std::size_t tile = i % shape.tiles();
  PrepareArgs a;
  a.x = job.x.data + matrix * job.x_stride + shape.first_token(tile) * job.x.stride;
  a.stride = job.x.stride;
  a.tokens = shape.tokens(tile);
  a.K = K;
  a.out = job.memory + matrix * Activations::bytes(compute, M, K) + tile * tile_stride(compute, M, K);
  job.kernel->tiled.prepare(a);
}

/// A weight format whose kernels read activations of this compute; every kernel of one compute prepares alike.
constexpr DType reader_of(Compute c) noexcept {
  return c == Compute::f32 ? DType::f32 : c == Compute::int8 ? DType::q8_0 : DType::bitnet_b158;
}

}  // namespace

void Activations::swap(Activations& other) noexcept {
  std::swap(compute_, other.compute_);
  std::swap(M_, other.M_);
  std::swap(K_, other.K_);
  std::swap(tiles_, other.tiles_);
  std::swap(data_, other.data_);
  std::swap(buffer_, other.buffer_);
}

const std::byte* Activations::tile(std::size_t i) const noexcept { return data_ + i * tile_stride(compute_, M_, K_); }

std::size_t Activations::bytes(Compute compute, std::size_t M, std::size_t K) noexcept {
  if (M == 0 || K == 0) return 0;
  return K > kMaxElements / M ? SIZE_MAX : tile_count(compute, M) * tile_stride(compute, M, K);
}

void ActivationsBuilder::place(Activations& out, std::size_t M, std::size_t K, Compute compute,
                               const std::byte* memory) noexcept {
  out.compute_ = compute;
  out.M_ = M;
  out.K_ = K;
  out.tiles_ = tile_count(compute, M);
  out.data_ = memory;
}

void ActivationsBuilder::fill_stack(std::size_t count, const Kernel& kernel, ConstMatrixView X, std::size_t x_stride,
                                    std::byte* memory, Executor& executor) noexcept {
  PrepareJob job{&kernel, X, x_stride, memory};
  if (X.rows == 0 || X.cols == 0) return;
  executor.parallel_for(count * tile_count(kernel.key.compute, X.rows), {prepare_tile, &job});
}

void ActivationsBuilder::fill(Activations& out, const Kernel& kernel, ConstMatrixView X, std::byte* memory,
                              Executor& executor) noexcept {
  place(out, X.rows, X.cols, kernel.key.compute, memory);
  fill_stack(1, kernel, X, 0, memory, executor);
}

Status ActivationsBuilder::fill_own(Activations& out, const Kernel& kernel, ConstMatrixView X,
                                    Executor& executor) noexcept {
  const std::size_t bytes = Activations::bytes(kernel.key.compute, X.rows, X.cols);
  if (bytes > out.buffer_.size()) {
    Buffer grown(bytes);
    if (grown.data() == nullptr) {
      return error(StatusCode::out_of_memory, "no memory for ", bytes, " bytes of activations");
    }
    out.buffer_ = std::move(grown);
  }
  fill(out, kernel, X, out.buffer_.data(), executor);
  return {};
}

Status prepare(ConstMatrixView X, Compute compute, Activations& out, Context& context) noexcept {
  if (static_cast<std::size_t>(compute) >= kComputeCount) {
    return error(StatusCode::invalid_argument, "prepare: compute must be f32, int8 or int8_token, not ", compute);
  }
  if (Status s = check_matrix("X", X); !s) return s;
  const Result<const Kernel*> kernel = choose_tiled(context, reader_of(compute), compute);
  if (!kernel) return kernel.status();
  return ActivationsBuilder::fill_own(out, **kernel, X, executor_of(context));
}

}  // namespace nibblas
