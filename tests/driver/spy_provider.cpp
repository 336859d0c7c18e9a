// SPDX-License-Identifier: Apache-2.0
#include "driver/spy_provider.hpp"

#include <mutex>
#include <stdexcept>

namespace nibblas::test {
namespace {

constexpr KernelKey kKeys[] = {{Op::matmul, DType::f32, Compute::f32},
                               {Op::matmul, DType::q8_0, Compute::int8},
                               {Op::matmul, DType::q4_0, Compute::int8},
                               {Op::matmul, DType::bitnet_b158, Compute::int8_token}};
constexpr const char* kNames[] = {"matmul.f32.f32.spy", "matmul.q8_0.int8.spy", "matmul.q4_0.int8.spy",
                                  "matmul.bitnet_b158.int8_token.spy"};
constexpr std::size_t kCount = std::size(kKeys);

std::mutex g_mutex;
TiledKernel g_real[kCount];
std::vector<SpyProvider::Prepare> g_prepares;
std::vector<SpyProvider::Pack> g_packs;
std::vector<SpyProvider::Tile> g_tiles;

template <std::size_t I>
void prepare(const PrepareArgs& a) noexcept {
  {
    const std::lock_guard lock(g_mutex);
    g_prepares.push_back({a.x, a.tokens, a.out});
  }
  g_real[I].prepare(a);
}

template <std::size_t I>
void pack(const PackArgs& a) noexcept {
  {
    const std::lock_guard lock(g_mutex);
    g_packs.push_back({a.row0, a.k0, a.k1, a.out, std::this_thread::get_id()});
  }
  g_real[I].pack(a);
}

template <std::size_t I>
void tile(const TileArgs& a) noexcept {
  {
    const std::lock_guard lock(g_mutex);
    g_tiles.push_back({{a.panels, a.panels + a.n_panels},
                       a.x,
                       a.tokens,
                       a.K,
                       a.k0,
                       a.k1,
                       a.state,
                       std::this_thread::get_id(),
                       g_packs.size()});
  }
  g_real[I].tile(a);
}

template <std::size_t I>
Kernel spied(const Kernel& real, std::size_t streams) {
  g_real[I] = real.tiled;
  Kernel k = real;
  k.name = kNames[I];
  k.tiled.streams = streams;
  k.tiled.prepare = prepare<I>;
  k.tiled.pack = pack<I>;
  k.tiled.tile = tile<I>;
  return k;
}

const Kernel& scalar_kernel(std::size_t i) {
  static const KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  const Kernel* k = registry.select({.key = kKeys[i], .provider = "scalar"});
  if (k == nullptr) throw std::logic_error("no scalar kernel to spy on");
  return *k;
}

}  // namespace

SpyProvider::SpyProvider(std::size_t streams)
    : kernels_{spied<0>(scalar_kernel(0), streams), spied<1>(scalar_kernel(1), streams),
               spied<2>(scalar_kernel(2), streams), spied<3>(scalar_kernel(3), streams)} {}

void SpyProvider::forget() {
  g_prepares.clear();
  g_packs.clear();
  g_tiles.clear();
}
const std::vector<SpyProvider::Prepare>& SpyProvider::prepares() { return g_prepares; }
const std::vector<SpyProvider::Pack>& SpyProvider::packs() { return g_packs; }
const std::vector<SpyProvider::Tile>& SpyProvider::tiles() { return g_tiles; }

}  // namespace nibblas::test
