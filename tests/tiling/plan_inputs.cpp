// SPDX-License-Identifier: Apache-2.0
#include "tiling/plan_inputs.hpp"

#include <iterator>

namespace nibblas::test {
namespace {

template <std::size_t n>
std::size_t pick(Random& random, const std::size_t (&values)[n]) {
  return values[random.below(n)];
}

std::size_t random_k(Random& random, std::size_t block) {
  if (block > 1) return block * pick(random, {1, 2, 3, 7, 8, 16, 64});
  const std::size_t k = pick(random, {1, 3, 31, 64, 65, 1000, 1024, 4097, 16384});
  return k + random.below(3);
}

TileOverride random_force(Random& random) {
  TileOverride f;
  if (random.below(2) != 0) f.row_block = pick(random, {1, 2, 3, 64, 65, 1000, kAny});
  if (random.below(2) != 0) f.k_chunk = pick(random, {1, 32, 33, 256, 1000, kAny});
  if (random.below(2) != 0) f.m_splits = pick(random, {1, 2, 3, 64, 1000, kAny});
  return f;
}

/// A format, compute, kernel and shape.
TileInput random_product(Random& random) {
  TileInput in;
  do {
    in.weights = static_cast<DType>(random.below(kDTypeCount));
    in.compute = static_cast<Compute>(random.below(kComputeCount));
  } while (!is_legal(in.weights, in.compute));
  const std::size_t block = in.weights == DType::bitnet_b158 ? 1 : info(in.weights).block_elems;
  in.N = 1 + random.below(random.below(3) == 0 ? 64 : 4096);
  in.M = random.below(4) == 0 ? pick(random, {512, 1000}) : 1 + random.below(160);
  in.K = random_k(random, block);
  in.k_step = (block > 1 ? block : 32) * pick(random, {1, 2, 4});
  in.state_floats = 1 + random.below(3);
  in.streams = random.below(8) == 0 ? kMaxTilePanels : 1 + random.below(8);
  in.zero_copy = random.below(2) == 0;
  return in;
}

}  // namespace

TileInput random_input(Random& random) {
  constexpr std::size_t kSizes[] = {0, 1, 1 << 10, 32 << 10, 48 << 10, 1 << 20, std::size_t{1} << 30, kAny};
  TileInput in = random_product(random);
  in.threads = 1 + random.below(random.below(2) == 0 ? 8 : 256);
  if (random.below(16) == 0) in.threads = pick(random, {kAny, kAny / 4 + 1, kAny / 2, 1 << 20});
  in.caches = {pick(random, kSizes), pick(random, kSizes), pick(random, kSizes)};
  if (random.below(3) == 0) in.force = random_force(random);
  return in;
}

TileInput sane_input(Random& random) {
  TileInput in = random_product(random);
  in.threads = 1 + random.below(random.below(2) == 0 ? 4 : 64);
  in.caches = {pick(random, {32 << 10, 48 << 10, 64 << 10}), pick(random, {256 << 10, 1 << 20, 2 << 20}), 32 << 20};
  return in;
}

std::string describe(const TileInput& in) {
  const auto n = [](std::size_t v) { return v == kAny ? std::string("max") : std::to_string(v); };
  return std::string(to_string(in.weights)) + " " + std::string(to_string(in.compute)) + " M=" + n(in.M) +
         " N=" + n(in.N) + " K=" + n(in.K) + (in.zero_copy ? " zero-copy" : " packed") + " k_step=" + n(in.k_step) +
         " state_floats=" + n(in.state_floats) + " streams=" + n(in.streams) + " threads=" + n(in.threads) +
         " caches=" + n(in.caches.l1d) + "/" + n(in.caches.l2) + "/" + n(in.caches.l3) +
         " force=" + n(in.force.row_block) + "/" + n(in.force.k_chunk) + "/" + n(in.force.m_splits);
}

std::size_t sixteen_rows(DType t, std::size_t k0, std::size_t k1) {
  const bool tq = t == DType::tq1_0 || t == DType::tq2_0;
  const bool bitnet = t == DType::bitnet_b158;
  const std::size_t elems = bitnet ? 32 : info(t).block_elems;
  const std::size_t bytes = bitnet ? 32 / 4 : tq ? 256 / 4 + 2 : info(t).block_bytes;
  return ((k1 + elems - 1) / elems - k0 / elems) * bytes * 16;
}

}  // namespace nibblas::test
