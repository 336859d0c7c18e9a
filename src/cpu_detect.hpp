// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "nibblas/cpu.hpp"

namespace nibblas {

/// What this machine says of itself. One definition an architecture; called once, by host_cpu().
CpuInfo detect_host_cpu();

/// Why a CPU that does not have all of `needed` cannot run what needs them: "cpu lacks fma; the operating system does
/// not enable avx2". Throws std::bad_alloc.
std::string why_missing(const CpuInfo& cpu, CpuFeatures needed);

/// `f`, and of x86-64's levels v3 (AVX2) and v4 (AVX-512) that it touches, all that belongs to the level: no CPU has a
/// part of it.
CpuFeatures whole_levels(CpuFeatures f) noexcept;

/// Linux's view of the caches of one CPU, read from `dir`/index*/{level,type,size}. Sizes that cannot be read, or that
/// no cache has, are 0.
CacheInfo caches_from_sysfs(const char* dir) noexcept;
inline constexpr const char* kSysfsCacheDir = "/sys/devices/system/cpu/cpu0/cache";

/// Drops sizes that no data cache has (hypervisors report zeros, or a whole machine's L3).
CacheInfo plausible(CacheInfo c) noexcept;
/// `first` where it is known, `second` elsewhere.
CacheInfo merge(CacheInfo first, CacheInfo second) noexcept;

// ---- x86 ------------------------------------------------------------------------------------------------------------

struct CpuidRegs {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

/// CPUID and XGETBV: the processor's own, or a recording of another one.
class CpuidSource {
 public:
  virtual ~CpuidSource() = default;
  virtual CpuidRegs leaf(std::uint32_t eax, std::uint32_t ecx) const noexcept = 0;
  /// Called only when CPUID says OSXSAVE; without it the instruction faults.
  virtual std::uint64_t xgetbv(std::uint32_t index) const noexcept = 0;
};

/// Everything CPUID and XCR0 tell. A feature whose registers the operating system does not save is absent.
CpuInfo detect_x86(const CpuidSource& source);

// ---- aarch64 --------------------------------------------------------------------------------------------------------

/// From Linux's AT_HWCAP and AT_HWCAP2, which already mean "the CPU has it and the kernel supports it".
CpuFeatures features_from_hwcap(std::uint64_t hwcap, std::uint64_t hwcap2) noexcept;

/// The numbers that Apple's systems give to names: this machine's, or made up.
class SysctlSource {
 public:
  virtual ~SysctlSource() = default;
  /// -1 where the system does not know the name.
  virtual std::int64_t value(const char* name) const noexcept = 0;
};

/// Apple silicon. Written to Apple's documentation and tested with made-up values only: no such machine was at hand.
CpuFeatures features_from_sysctl(const SysctlSource& source) noexcept;
/// Of the fast cores where the system tells them from the slow ones.
CacheInfo caches_from_sysctl(const SysctlSource& source) noexcept;
#if defined(__APPLE__)
CpuFeatures features_of_apple_host() noexcept;
CacheInfo caches_of_apple_host() noexcept;
#endif

}  // namespace nibblas
