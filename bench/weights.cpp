// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "metrics.hpp"
#include "nibblas/formats.hpp"
#include "support/fill.hpp"

namespace nibblas::bench {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::uint64_t kWeightSeed = 20;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

Status no_memory(std::size_t bytes) {
  return {StatusCode::out_of_memory, fmt::format("no {} MB for weights", bytes / 1000000)};
}

}  // namespace

CopyPlan plan_copies(std::size_t bytes, bool hot) {
  CopyPlan plan;
  plan.stride = round_up(std::max<std::size_t>(bytes, 1), kLine);
  if (hot) return plan;
  plan.copies = (kColdBytes + plan.stride - 1) / plan.stride;
  if (plan.copies > kMaxRepetitions) {
    plan.copies = kMaxRepetitions;
    plan.stride = kColdBytes / kMaxRepetitions / kLine * kLine;
    plan.needs_flush = true;
  }
  return plan;
}

Status WeightBank::load(const Case& c, Context& context) {
  if (ready_ && source_ == c.source.get() && packed_ == c.packed && (!c.packed || kernel_ == c.kernel)) return {};
  ready_ = false;
  views_.clear();
  panels_.clear();
  if (source_ != c.source.get()) {
    source_ = nullptr;
    if (Status s = load_source(c); !s) return s;
    source_ = c.source.get();
  }
  if (Status s = copy_image(c, context); !s) return s;
  packed_ = c.packed;
  kernel_ = c.kernel;
  ready_ = true;
  return {};
}

Status WeightBank::load_source(const Case& c) {
  const WeightSource& source = *c.source;
  if (source.view) {
    original_ = *source.view;
    return {};
  }
  const Result<std::size_t> bytes = tensor_bytes(source.dtype, source.N, source.K);
  if (!bytes) return bytes.status();
  if (made_.size() < *bytes) made_ = Buffer();
  if (made_.data() == nullptr) made_ = Buffer(*bytes);
  if (made_.data() == nullptr) return no_memory(*bytes);
  original_ = {source.dtype, source.N, source.K, made_.data(), *bytes, 0};
  return test::fill_weights(source.dtype, source.N, source.K, kWeightSeed, {made_.data(), *bytes});
}

Status WeightBank::copy_image(const Case& c, Context& context) {
  std::span<const std::byte> image{original_.data, original_.bytes};
  PackedWeights packed;
  if (c.packed) {
    MatmulOptions options;
    options.compute = c.compute;
    options.provider = c.forced_provider;
    Result<PackedWeights> made = PackedWeights::pack(original_, context, options);
    if (!made) return made.status();
    packed = std::move(*made);
    image = packed.bytes();
  }
  plan_ = plan_copies(image.size(), c.hot);
  const std::size_t needed = std::max(plan_.copies * plan_.stride, c.hot ? 0 : kColdBytes);
  if (arena_.size() < needed) {
    arena_ = Buffer();
    arena_ = Buffer(needed);
    if (arena_.data() == nullptr) return no_memory(needed);
    std::memset(arena_.data(), 0, arena_.size());
  }
  for (std::size_t i = 0; i < plan_.copies; ++i) {
    std::byte* copy = arena_.data() + i * plan_.stride;
    std::memcpy(copy, image.data(), image.size());
    if (c.packed) {
      Result<PackedWeights> panels = PackedWeights::from_bytes({copy, image.size()});
      if (!panels) return panels.status();
      panels_.push_back(std::move(*panels));
    } else {
      WeightView view = original_;
      view.data = copy;
      views_.push_back(view);
    }
  }
  return {};
}

Status WeightBank::multiply(std::size_t copy, ConstMatrixView x, MatrixView y, Context& context,
                            const MatmulOptions& options) {
  if (packed_) return matmul(panels_[copy], x, y, context, options);
  return matmul(views_[copy], x, y, context, options);
}

void WeightBank::flush_if_needed() const {
  if (!plan_.needs_flush) return;
  std::byte all{0};
  for (std::size_t i = 0; i < arena_.size(); i += kLine) all |= arena_.data()[i];
  std::atomic_signal_fence(std::memory_order_seq_cst);
  static std::atomic<unsigned char> sink;
  sink.store(std::to_integer<unsigned char>(all), std::memory_order_relaxed);
}

}  // namespace nibblas::bench
