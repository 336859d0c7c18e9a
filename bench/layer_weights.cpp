// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "layer.hpp"
#include "nibblas/formats.hpp"
#include "support/fill.hpp"

namespace nibblas::bench {
namespace {

constexpr std::uint64_t kWeightSeed = 20;
constexpr std::size_t kLine = 64;

}  // namespace

std::string_view to_string(LayerBlock block) noexcept { return block == LayerBlock::swiglu ? "swiglu" : "projections"; }

std::string LayerCase::name() const {
  return fmt::format("{}/{}/M:{}/threads:{}", to_string(block), to_string(dtype), M, threads);
}

std::vector<LayerMatrix> matrices_of(LayerBlock block, const LayerOptions& o) {
  if (block == LayerBlock::swiglu) {
    return {{"gate", o.ffn, o.hidden}, {"up", o.ffn, o.hidden}, {"down", o.hidden, o.ffn}};
  }
  const std::size_t kv = o.hidden / o.heads * o.kv_heads;
  return {{"q", o.hidden, o.hidden}, {"k", kv, o.hidden}, {"v", kv, o.hidden}, {"output", o.hidden, o.hidden}};
}

Status LayerWeights::load(DType dtype, const std::vector<LayerMatrix>& matrices, bool hot, Context& context) {
  count_ = matrices.size();
  packed_.clear();
  originals_.clear();
  made_.clear();
  std::vector<PackedWeights> images;
  std::size_t total = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const LayerMatrix& m = matrices[i];
    const Result<std::size_t> bytes = tensor_bytes(dtype, m.N, m.K);
    if (!bytes) return bytes.status();
    made_.emplace_back(*bytes);
    if (made_[i].data() == nullptr) return {StatusCode::out_of_memory, "no memory for the weights of " + m.name};
    if (Status s = test::fill_weights(dtype, m.N, m.K, kWeightSeed + i, {made_[i].data(), *bytes}); !s) return s;
    originals_.push_back({dtype, m.N, m.K, made_[i].data(), *bytes, 0});
    Result<PackedWeights> packed = PackedWeights::pack(originals_[i], context);
    if (!packed) return packed.status();
    total += (packed->bytes().size() + kLine - 1) / kLine * kLine;
    images.push_back(std::move(*packed));
  }
  if (Status s = arena_.reserve(total, hot); !s) return s;
  for (std::size_t copy = 0; copy < arena_.copies(); ++copy) {
    std::byte* at = arena_.at(copy);
    for (const PackedWeights& image : images) {
      const std::size_t bytes = image.bytes().size();
      std::memcpy(at, image.bytes().data(), bytes);
      Result<PackedWeights> there = PackedWeights::from_bytes({at, bytes});
      if (!there) return there.status();
      packed_.push_back(std::move(*there));
      at += (bytes + kLine - 1) / kLine * kLine;
    }
  }
  return {};
}

}  // namespace nibblas::bench
