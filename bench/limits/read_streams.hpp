// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "limits/kernels.hpp"

// The read loop, on a vector type V that lives in the including file's anonymous namespace, so that no instantiation is
// shared between files of different flags. V: kBytes, Reg, zero(), load(p), fold(a, b), finish(r), prefetch(p).

namespace nibblas::bench {

inline constexpr std::size_t kReadStep = 256;

template <class V, std::size_t Streams, bool Prefetch>
std::uint64_t read_streams(const ReadArgs& a) noexcept {
  const std::size_t part = a.bytes / Streams / kReadStep * kReadStep;
  constexpr std::size_t kLoads = kReadStep / V::kBytes;
  typename V::Reg r0 = V::zero();
  typename V::Reg r1 = V::zero();
  for (std::size_t i = 0; i < part; i += kReadStep) {
    for (std::size_t s = 0; s < Streams; ++s) {
      const std::byte* p = a.data + s * part + i;
      if constexpr (Prefetch) {
        for (std::size_t line = 0; line < kReadStep; line += 64) V::prefetch(p + a.prefetch + line);
      }
      for (std::size_t j = 0; j < kLoads; j += 2) {
        r0 = V::fold(r0, V::load(p + j * V::kBytes));
        r1 = V::fold(r1, V::load(p + (j + 1) * V::kBytes));
      }
    }
  }
  return V::finish(V::fold(r0, r1));
}

template <class V>
std::uint64_t read_any(const ReadArgs& a) noexcept {
  if (a.prefetch == 0) {
    if (a.streams == 1) return read_streams<V, 1, false>(a);
    return a.streams == 4 ? read_streams<V, 4, false>(a) : read_streams<V, 8, false>(a);
  }
  if (a.streams == 1) return read_streams<V, 1, true>(a);
  return a.streams == 4 ? read_streams<V, 4, true>(a) : read_streams<V, 8, true>(a);
}

}  // namespace nibblas::bench
