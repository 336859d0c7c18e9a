// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)

#include "cpu_detect.hpp"

#if defined(__linux__)
#include <sys/auxv.h>
#endif

namespace nibblas {

namespace {

// Bit numbers of the Linux user-space ABI; written out because old C libraries lack some of the names.
constexpr unsigned kHwcapAsimd = 1;
constexpr unsigned kHwcapFphp = 9;
constexpr unsigned kHwcapAsimdhp = 10;
constexpr unsigned kHwcapAsimddp = 20;
constexpr unsigned kHwcapSve = 22;
constexpr unsigned kHwcap2I8mm = 13;

constexpr bool bit(std::uint64_t word, unsigned i) noexcept { return (word >> i) & 1u; }

}  // namespace

CpuFeatures features_from_hwcap(std::uint64_t hwcap, std::uint64_t hwcap2) noexcept {
  CpuFeatures f;
  if (!bit(hwcap, kHwcapAsimd)) {
    return f;
  }
  f = f.with(CpuFeature::neon);
  if (bit(hwcap, kHwcapAsimddp)) {
    f = f.with(CpuFeature::dotprod);
  }
  if (bit(hwcap, kHwcapFphp) && bit(hwcap, kHwcapAsimdhp)) {
    f = f.with(CpuFeature::fp16);
  }
  if (bit(hwcap, kHwcapSve)) {
    f = f.with(CpuFeature::sve);
  }
  if (bit(hwcap2, kHwcap2I8mm)) {
    f = f.with(CpuFeature::i8mm);
  }
  return f;
}

CpuInfo detect_host_cpu() {
  CpuInfo cpu;
  cpu.arch = "aarch64";
#if defined(__linux__)
  cpu.features = features_from_hwcap(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
  cpu.caches = caches_from_sysfs(kSysfsCacheDir);
#elif defined(__APPLE__)
  cpu.features = features_of_apple_host();
  cpu.caches = caches_of_apple_host();
#else
  cpu.features = CpuFeatures{}.with(CpuFeature::neon);  // part of the architecture; anything else would be a guess
#endif
  return cpu;
}

}  // namespace nibblas

#endif
