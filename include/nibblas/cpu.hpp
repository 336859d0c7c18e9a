// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nibblas/export.hpp"

namespace nibblas {

/// One bit per instruction-set extension a kernel may need. A feature counts only when the CPU has it *and* the
/// operating system saves its registers.
enum class CpuFeature : std::uint8_t {
  sse2,
  ssse3,
  sse4_1,
  avx,
  f16c,
  fma,
  avx2,
  bmi2,
  avx512f,
  avx512bw,
  avx512vl,
  avx512dq,
  avx512cd,
  avx512vnni,
  avx512bf16,
  avx512vbmi,
  avxvnni,
  neon,
  dotprod,
  i8mm,
  fp16,
  sve,
};
inline constexpr std::size_t kCpuFeatureCount = 22;

/// A set of CpuFeature; plain data, usable in constinit tables.
struct CpuFeatures {
  std::uint64_t bits = 0;

  constexpr bool has(CpuFeature f) const noexcept { return (bits >> static_cast<unsigned>(f)) & 1u; }
  constexpr CpuFeatures with(CpuFeature f) const noexcept {
    return {bits | (std::uint64_t{1} << static_cast<unsigned>(f))};
  }
  constexpr CpuFeatures without(CpuFeature f) const noexcept {
    return {bits & ~(std::uint64_t{1} << static_cast<unsigned>(f))};
  }
  constexpr bool includes(CpuFeatures other) const noexcept { return (bits & other.bits) == other.bits; }
  constexpr CpuFeatures missing(CpuFeatures needed) const noexcept { return {needed.bits & ~bits}; }
  constexpr bool operator==(const CpuFeatures&) const = default;
};

NIBBLAS_API std::string_view to_string(CpuFeature f) noexcept;
/// "avx2 fma f16c", in enum order.
NIBBLAS_API std::string to_string(CpuFeatures f);

/// Data-cache sizes in bytes seen by one core. 0 = unknown; plan() copes with any value.
struct CacheInfo {
  std::size_t l1d = 0;
  std::size_t l2 = 0;
  std::size_t l3 = 0;
};

struct CpuInfo {
  std::string arch;    ///< "x86_64", "aarch64"
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD", "" when unknown
  std::string brand;
  CpuFeatures features;
  CacheInfo caches;
  CpuFeatures not_enabled = {};  ///< the CPU has these, but the operating system does not save their registers
};

/// The machine this process runs on, detected once.
NIBBLAS_API const CpuInfo& host_cpu() noexcept;

}  // namespace nibblas
