// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "nibblas/provider.hpp"
#include "nibblas/registry.hpp"

namespace nibblas::test {

/// The scalar kernels of four keys behind functions that write down how they are called: what the driver does is seen
/// from the kernel's side. Not for more than one product at a time; the driver's own threads are fine.
class SpyProvider final : public KernelProvider {
 public:
  struct Prepare {
    const float* x;
    std::size_t tokens;
    const std::byte* out;
  };
  struct Pack {
    std::size_t row0, k0, k1;
    const std::byte* out;
    std::thread::id thread;
  };
  struct Tile {
    std::vector<const std::byte*> panels;
    const std::byte* x;
    std::size_t tokens, K, k0, k1;
    const float* state;
    std::thread::id thread;
    std::size_t packs;  ///< calls of pack so far
  };

  /// Every kernel says that it wants `streams` panels side by side.
  explicit SpyProvider(std::size_t streams = 1);

  std::string_view name() const noexcept override { return "spy"; }
  int priority() const noexcept override { return 1000; }
  Availability available(const CpuInfo&) const override { return {true, {}}; }
  std::span<const Kernel> kernels() const noexcept override { return kernels_; }

  static void forget();
  static const std::vector<Prepare>& prepares();
  static const std::vector<Pack>& packs();
  static const std::vector<Tile>& tiles();

 private:
  std::vector<Kernel> kernels_;
};

}  // namespace nibblas::test
