// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "isa/table.hpp"

// One call of a kernel's tile function, for a simulator to follow: tile KERNEL TOKENS PANELS K. Weights and activations
// are zeros; no kernel looks at them to decide what to do. Prints the bytes of the weights.

namespace {

using namespace nibblas;

const Kernel* find(std::string_view name) {
  for (const KernelTable* table : {&nibblas_isa_neon, &nibblas_isa_neon_dotprod, &nibblas_isa_neon_i8mm}) {
    for (std::size_t i = 0; i < table->count; ++i) {
      if (table->kernels[i].name == name) return &table->kernels[i];
    }
  }
  return nullptr;
}

std::byte* zeros(std::size_t bytes) {
  void* p = ::operator new (bytes, std::align_val_t{64});
  std::memset(p, 0, bytes);
  return static_cast<std::byte*>(p);
}

std::size_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  const Kernel* kernel = argc == 5 ? find(argv[1]) : nullptr;
  if (kernel == nullptr) {
    std::fprintf(stderr, "usage: tile KERNEL TOKENS PANELS K\n");
    return 2;
  }
  const std::size_t tokens = number(argv[2]);
  const std::size_t n_panels = number(argv[3]);
  const std::size_t K = number(argv[4]);
  const std::size_t panel_bytes = panel_layout(kernel->key.weights).panel_bytes(K);
  if (n_panels > kMaxTilePanels || tokens > tile_tokens(kernel->key.compute)) return 2;

  const std::byte* panels[kMaxTilePanels];
  for (std::size_t i = 0; i < n_panels; ++i) panels[i] = zeros(panel_bytes);
  const std::byte* x = zeros(activation_tile_bytes(kernel->key.compute, tokens, K));
  const std::size_t state = n_panels * tokens * kernel->tiled.state_floats * kPanelRows * sizeof(float);
  kernel->tiled.tile({panels, n_panels, x, tokens, K, 0, K, reinterpret_cast<float*>(zeros(state))});
  std::printf("%zu\n", n_panels * panel_bytes);
}
