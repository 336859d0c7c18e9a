// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nibblas/registry.hpp"

// Providers whose kernels are never run: the registry only chooses.

namespace nibblas::fakes {

inline void prepare(const PrepareArgs&) noexcept {}
inline void pack(const PackArgs&) noexcept {}
inline void tile(const TileArgs&) noexcept {}
inline Status run(const MatmulArgs&, void*) { return {}; }
inline Result<std::size_t> packed_bytes(DType, std::size_t N, std::size_t K, void*) { return N * K; }
inline Status pack_whole(const WeightView&, std::byte*, void*) { return {}; }

inline Kernel tiled(KernelKey key, const char* name) {
  Kernel k;
  k.key = key;
  k.name = name;
  k.tiled.k_step = panel_layout(key.weights).block_elems;
  k.tiled.prepare = prepare;
  k.tiled.pack = pack;
  k.tiled.tile = tile;
  return k;
}

inline Kernel whole(KernelKey key, const char* name, std::uint32_t layout_id = 0) {
  Kernel k;
  k.key = key;
  k.name = name;
  k.whole.run = run;
  if (layout_id != 0) {
    k.whole.layout_id = layout_id;
    k.whole.packed_bytes = packed_bytes;
    k.whole.pack = pack_whole;
  }
  return k;
}

inline Kernel tolerant(Kernel k) {
  k.results = Results::tolerance;
  return k;
}

inline Kernel needing(Kernel k, CpuFeatures needs) {
  k.needs = needs;
  return k;
}

class Provider final : public KernelProvider {
 public:
  Provider(std::string name, int priority, std::vector<Kernel> kernels, CpuFeatures needs = {})
      : name_(std::move(name)), priority_(priority), kernels_(std::move(kernels)), needs_(needs) {}

  std::string_view name() const noexcept override { return name_; }
  int priority() const noexcept override { return priority_; }
  Availability available(const CpuInfo& cpu) const override {
    const CpuFeatures missing = cpu.features.missing(needs_);
    return missing.bits == 0 ? Availability{true, {}} : Availability{false, "cpu lacks " + to_string(missing)};
  }
  std::span<const Kernel> kernels() const noexcept override { return kernels_; }
  Kernel& kernel(std::size_t i) { return kernels_[i]; }

 private:
  std::string name_;
  int priority_;
  std::vector<Kernel> kernels_;
  CpuFeatures needs_;
};

inline CpuInfo cpu(std::initializer_list<CpuFeature> features = {}) {
  CpuInfo c;
  c.arch = "paper";
  for (const CpuFeature f : features) {
    c.features = c.features.with(f);
  }
  return c;
}

inline constexpr KernelKey kF32{Op::matmul, DType::f32, Compute::f32};
inline constexpr KernelKey kF32Gemv{Op::gemv, DType::f32, Compute::f32};
inline constexpr KernelKey kQ4{Op::matmul, DType::q4_0, Compute::int8};
inline constexpr KernelKey kQ4Gemv{Op::gemv, DType::q4_0, Compute::int8};

/// Each (op, weights, compute) there is, legal or not.
inline std::vector<KernelKey> all_keys() {
  std::vector<KernelKey> keys;
  for (const Op op : {Op::matmul, Op::gemv}) {
    for (const DTypeInfo& type : kDTypes) {
      for (const Compute c : {Compute::f32, Compute::int8, Compute::int8_token}) {
        keys.push_back({op, type.dtype, c});
      }
    }
  }
  return keys;
}

inline std::string text(const KernelKey& k) {
  return std::string(to_string(k.op)) + " " + std::string(to_string(k.weights)) + " " +
         std::string(to_string(k.compute));
}

/// The provider of the chosen kernel, or the code of the status.
inline std::string chosen(const KernelRegistry& r, const KernelRequest& request) {
  const Resolution res = r.resolve(request);
  return res.status.ok() ? res.provider : std::to_string(static_cast<int>(res.status.code()));
}

inline std::string reason(const Resolution& r, std::string_view provider_or_kernel) {
  for (const Candidate& c : r.trail) {
    if (c.provider == provider_or_kernel || c.kernel == provider_or_kernel) {
      return c.reason;
    }
  }
  return "(not in the trail)";
}

}  // namespace nibblas::fakes
