// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nibblas/cpu.hpp"

// What bench/limits/<isa>.cpp exports: plain functions that run at the machine's limit. Those files are compiled with
// their ISA's flags, so they use neither the standard library nor shared inline functions.

namespace nibblas::bench {

/// Reads `bytes` once: `streams` equal parts side by side, each prefetched `prefetch` bytes ahead (0 = not at all).
struct ReadArgs {
  const std::byte* data;
  std::size_t bytes;
  std::size_t streams;  ///< 1, 4 or 8
  std::size_t prefetch;
};

struct LimitIsa {
  const char* name;
  const char* f32_how;   ///< the instructions of the f32 peak
  const char* int8_how;  ///< the instructions of the int8 peak
  CpuFeatures needs;
  CpuFeatures f32_needs;  ///< of them, those of the f32 peak: what a kernel in f32 is compared with
  /// Runs `rounds` rounds out of registers and returns the number of operations: a multiplication and an addition
  /// count one each. Something that depends on all of them goes to *sink.
  double (*f32)(std::uint64_t rounds, float* sink) noexcept;
  double (*int8)(std::uint64_t rounds, std::int32_t* sink) noexcept;
  /// Returns something that depends on every byte.
  std::uint64_t (*read)(const ReadArgs&) noexcept;
};

/// Those of this architecture, from baseline to best; the host may lack the later ones.
std::span<const LimitIsa* const> limit_isas() noexcept;

}  // namespace nibblas::bench
