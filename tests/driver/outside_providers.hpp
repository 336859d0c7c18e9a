// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "nibblas/buffer.hpp"
#include "nibblas/executor.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/provider.hpp"

// Providers as an engine might bring them: whole kernels on the caller's views.

namespace nibblas::test {

/// One kernel, with calls counted.
class OutsideProvider : public KernelProvider {
 public:
  OutsideProvider(std::string_view name, int priority, Kernel kernel)
      : name_(name), priority_(priority), kernels_{kernel} {
    if (!kernels_[0].is_tiled()) kernels_[0].whole.user = this;
  }
  std::string_view name() const noexcept override { return name_; }
  int priority() const noexcept override { return priority_; }
  Availability available(const CpuInfo&) const override { return {true, {}}; }
  std::span<const Kernel> kernels() const noexcept override { return kernels_; }

  mutable int calls = 0;

 private:
  std::string_view name_;
  int priority_;
  std::array<Kernel, 1> kernels_;
};

inline void count_call(void* user) { ++static_cast<const OutsideProvider*>(user)->calls; }

/// X times decoded rows, one chain of float sums: exact for ExactProblem, else only near the canonical bits.
inline Status naive_product(const MatmulArgs& a, void* user) {
  count_call(user);
  std::vector<float> row(a.w.K);
  for (std::size_t n = 0; n < a.w.N; ++n) {
    if (Status s = dequantize(a.w, n, {row.data(), 1, a.w.K}); !s) return s;
    for (std::size_t m = 0; m < a.x.rows; ++m) {
      float sum = 0;
      for (std::size_t k = 0; k < a.w.K; ++k) sum += a.x.data[m * a.x.stride + k] * row[k];
      a.y.data[m * a.y.stride + n] = sum;
    }
  }
  return {};
}

/// y from bitnet_b158's own stream of codes: adds and subtracts, a scale at the end.
inline Status ternary_gemv(const MatmulArgs& a, void* user) {
  count_call(user);
  if (a.x.rows != 1 || a.packed != nullptr) return {StatusCode::unsupported, "ternary_gemv: one row, raw codes"};
  float scale = 0;
  const std::size_t code_bytes = (a.w.N * a.w.K + 3) / 4;
  for (std::size_t i = 0; i < sizeof scale; ++i) reinterpret_cast<std::byte*>(&scale)[i] = a.w.data[code_bytes + i];
  for (std::size_t n = 0; n < a.w.N; ++n) {
    float sum = 0;
    for (std::size_t k = 0; k < a.w.K; ++k) {
      const std::size_t i = n * a.w.K + k;
      const unsigned code = std::to_integer<unsigned>(a.w.data[i / 4]) >> (2 * (i % 4)) & 3u;
      sum += static_cast<float>(static_cast<int>(code) - 1) * a.x.data[k];
    }
    a.y.data[n] = sum * scale;
  }
  return {};
}

// A packing of its own: decoded weights, column-major.
inline constexpr std::uint32_t kColumnsLayout = kFirstForeignLayout + 1;
inline constexpr std::uint16_t kColumnsVersion = 3;

inline Result<std::size_t> columns_bytes(DType, std::size_t N, std::size_t K, void*) { return N * K * sizeof(float); }
inline Status columns_pack(const WeightView& w, std::byte* out, void*) {
  auto* columns = reinterpret_cast<float*>(out);
  std::vector<float> row(w.K);
  for (std::size_t n = 0; n < w.N; ++n) {
    if (Status s = dequantize(w, n, {row.data(), 1, w.K}); !s) return s;
    for (std::size_t k = 0; k < w.K; ++k) columns[k * w.N + n] = row[k];
  }
  return {};
}
inline Status columns_product(const MatmulArgs& a, void* user) {
  if (a.packed == nullptr) return naive_product(a, user);
  count_call(user);
  const auto* columns = reinterpret_cast<const float*>(a.packed);
  for (std::size_t m = 0; m < a.x.rows; ++m) {
    for (std::size_t n = 0; n < a.w.N; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < a.w.K; ++k) sum += a.x.data[m * a.x.stride + k] * columns[k * a.w.N + n];
      a.y.data[m * a.y.stride + n] = sum;
    }
  }
  return {};
}

inline Kernel whole_kernel(KernelKey key, const char* name, Results results, Status (*run)(const MatmulArgs&, void*)) {
  Kernel k;
  k.key = key;
  k.name = name;
  k.results = results;
  k.whole.run = run;
  return k;
}

inline Kernel columns_kernel(KernelKey key, const char* name, Results results) {
  Kernel k = whole_kernel(key, name, results, columns_product);
  k.whole.layout_id = kColumnsLayout;
  k.whole.layout_version = kColumnsVersion;
  k.whole.packed_bytes = columns_bytes;
  k.whole.pack = columns_pack;
  return k;
}

}  // namespace nibblas::test
