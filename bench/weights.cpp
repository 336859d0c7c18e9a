// SPDX-License-Identifier: Apache-2.0
#include "weights.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>

#include "nibblas/formats.hpp"
#include "support/fill.hpp"

namespace nibblas::bench {
namespace {

constexpr std::uint64_t kWeightSeed = 20;

Status no_memory(std::size_t bytes) {
  return {StatusCode::out_of_memory, fmt::format("no {} MB for weights", bytes / 1000000)};
}

}  // namespace

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
  image_bytes_ = image.size();
  if (Status s = arena_.reserve(image.size(), c.hot); !s) return s;
  for (std::size_t i = 0; i < arena_.copies(); ++i) {
    std::byte* copy = arena_.at(i);
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

}  // namespace nibblas::bench
