// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace nibblas::bench {

Context& Engines::operator()(std::size_t threads) {
  Engine& e = engines_[threads];
  if (e.context.registry == nullptr) {
    e.context.registry = &registry_;
    if (threads > 1) {
      e.pool = std::make_unique<ThreadPool>(threads);
      e.context.executor = e.pool.get();
    }
  }
  return e.context;
}

Status FloatMatrix::resize(std::size_t rows, std::size_t cols) {
  const std::size_t bytes = rows * cols * sizeof(float);
  if (memory_.size() < bytes) memory_ = Buffer(bytes);
  if (memory_.data() == nullptr) {
    return {StatusCode::out_of_memory, fmt::format("no memory for {} tokens of {}", rows, cols)};
  }
  rows_ = rows;
  cols_ = cols;
  return {};
}

void FloatMatrix::fill_nan() { std::fill_n(view().data, rows_ * cols_, std::numeric_limits<float>::quiet_NaN()); }

MatmulOptions matmul_options(Compute compute, std::string_view provider) {
  MatmulOptions o;
  o.compute = compute;
  o.provider = provider;
  o.allow_tolerance = !provider.empty();
  return o;
}

}  // namespace nibblas::bench
