// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "nibblas/buffer.hpp"
#include "nibblas/matmul.hpp"
#include "nibblas/views.hpp"

// What products run with and on.

namespace nibblas::bench {

/// A context for each number of threads, over one registry.
class Engines {
 public:
  explicit Engines(KernelRegistry& registry) : registry_(registry) {}
  Context& operator()(std::size_t threads);

 private:
  struct Engine {
    std::unique_ptr<ThreadPool> pool;
    Context context;
  };
  KernelRegistry& registry_;
  std::map<std::size_t, Engine> engines_;
};

inline Executor& executor_of(const Context& c) { return c.executor != nullptr ? *c.executor : serial_executor(); }

/// A dense matrix, 64-byte aligned, whose memory only grows.
class FloatMatrix {
 public:
  /// What was there is lost. Errors: out_of_memory.
  Status resize(std::size_t rows, std::size_t cols);
  MatrixView view() { return {reinterpret_cast<float*>(memory_.data()), rows_, cols_}; }
  ConstMatrixView view() const { return {reinterpret_cast<const float*>(memory_.data()), rows_, cols_}; }
  /// A product that leaves an element out must be seen.
  void fill_nan();

 private:
  Buffer memory_;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

/// The registry's kernel for a matmul, or the provider's own.
MatmulOptions matmul_options(Compute compute, std::string_view provider);

/// Seed of the activations that every command uses.
inline constexpr std::uint64_t kActivationSeed = 7;

}  // namespace nibblas::bench
