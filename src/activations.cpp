// SPDX-License-Identifier: Apache-2.0
#include "activations.hpp"

#include <algorithm>

#include "fp_environment.hpp"
#include "product.hpp"
#include "status_message.hpp"

namespace nibblas {
namespace {

struct PrepareJob {
  const Kernel* kernel;
  ConstMatrixView x;
  const Activations* out;
};

void prepare_tile(void* arg, std::size_t i) noexcept {
  const auto& job = *static_cast<const PrepareJob*>(arg);
  const FpEnvironment env;
  PrepareArgs a;
  a.x = job.x.data + job.out->first_token(i) * job.x.stride;
  a.stride = job.x.stride;
  a.tokens = job.out->tokens(i);
  a.K = job.x.cols;
  a.out = const_cast<std::byte*>(job.out->tile(i));
  job.kernel->tiled.prepare(a);
}

std::size_t tile_count(Compute compute, std::size_t M) noexcept {
  return std::max<std::size_t>(ceil_div(M, tile_tokens(compute)), 1);
}

std::size_t tile_stride(Compute compute, std::size_t M, std::size_t K) noexcept {
  const std::size_t tiles = tile_count(compute, M);
  return round_up(activation_tile_bytes(compute, ceil_div(M, tiles), K), 64);
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
  return M == 0 ? 0 : tile_count(compute, M) * tile_stride(compute, M, K);
}

void ActivationsBuilder::fill(Activations& out, const Kernel& kernel, ConstMatrixView X, Compute compute,
                              std::byte* memory, Executor& executor) noexcept {
  out.compute_ = compute;
  out.M_ = X.rows;
  out.K_ = X.cols;
  out.tiles_ = tile_count(compute, X.rows);
  out.data_ = memory;
  PrepareJob job{&kernel, X, &out};
  if (X.rows != 0 && X.cols != 0) executor.parallel_for(out.tiles_, {prepare_tile, &job});
}

Status ActivationsBuilder::fill_own(Activations& out, const Kernel& kernel, ConstMatrixView X, Compute compute,
                                    Executor& executor) noexcept {
  const std::size_t bytes = Activations::bytes(compute, X.rows, X.cols);
  if (bytes > out.buffer_.size()) {
    Buffer grown(bytes);
    if (grown.data() == nullptr) {
      return error(StatusCode::out_of_memory, "no memory for ", bytes, " bytes of activations");
    }
    out.buffer_ = std::move(grown);
  }
  fill(out, kernel, X, compute, out.buffer_.data(), executor);
  return {};
}

Status prepare(ConstMatrixView X, Compute compute, Activations& out, Context& context) noexcept {
  if (static_cast<std::size_t>(compute) >= kComputeCount) {
    return error(StatusCode::invalid_argument, "prepare: compute must be f32, int8 or int8_token, not ",
                 to_string(compute));
  }
  if (Status s = check_matrix("X", X); !s) return s;
  const Result<const Kernel*> kernel = choose_tiled(context, reader_of(compute), compute);
  if (!kernel) return kernel.status();
  return ActivationsBuilder::fill_own(out, **kernel, X, compute, executor_of(context));
}

}  // namespace nibblas
