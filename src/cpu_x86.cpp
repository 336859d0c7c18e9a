// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "ascii.hpp"
#include "cpu_detect.hpp"

namespace nibblas {

namespace {

constexpr bool bit(std::uint32_t word, unsigned i) noexcept { return (word >> i) & 1u; }

constexpr std::uint64_t kXcr0Avx = 0x06;     // XMM and upper YMM halves
constexpr std::uint64_t kXcr0Avx512 = 0xe6;  // also opmasks, upper ZMM halves, ZMM16-31

constexpr std::uint32_t kExtendedBase = 0x80000000u;

class HardwareCpuid final : public CpuidSource {
 public:
  CpuidRegs leaf(std::uint32_t eax, std::uint32_t ecx) const noexcept override {
    CpuidRegs r;
    __cpuid_count(eax, ecx, r.eax, r.ebx, r.ecx, r.edx);
    return r;
  }
  __attribute__((target("xsave"))) std::uint64_t xgetbv(std::uint32_t index) const noexcept override {
    return index == 0 ? static_cast<std::uint64_t>(_xgetbv(0)) : 0;
  }
};

/// The highest leaves that mean something: beyond them a CPU answers with another leaf's bits.
struct LeafLimits {
  std::uint32_t basic = 0;
  std::uint32_t extended = 0;
};

LeafLimits leaf_limits(const CpuidSource& source) noexcept {
  const std::uint32_t extended = source.leaf(kExtendedBase, 0).eax;
  return {source.leaf(0, 0).eax, extended >= kExtendedBase ? extended : 0};
}

std::string vendor_name(const CpuidSource& source) {
  const CpuidRegs r = source.leaf(0, 0);
  char name[12];
  std::memcpy(name, &r.ebx, 4);
  std::memcpy(name + 4, &r.edx, 4);
  std::memcpy(name + 8, &r.ecx, 4);
  const std::string_view all(name, sizeof name);
  return std::string(all.substr(0, all.find('\0')));
}

std::string brand_name(const CpuidSource& source, LeafLimits limits) {
  if (limits.extended < kExtendedBase + 4) {
    return {};
  }
  char name[48];
  for (std::uint32_t i = 0; i < 3; ++i) {
    const CpuidRegs r = source.leaf(kExtendedBase + 2 + i, 0);
    std::memcpy(name + 16 * i, &r, sizeof r);
  }
  const std::string_view all(name, sizeof name);
  return std::string(ascii_trim(all.substr(0, all.find('\0'))));
}

struct FeatureBit {
  CpuFeature feature;
  std::uint32_t CpuidRegs::*reg;
  unsigned index;
};

// AVX and what is built on it (VEX), AVX-512 and what is built on it (EVEX), from leaf 7 subleaves 0 and 1.
constexpr FeatureBit kBaseLeaf1[] = {{CpuFeature::sse2, &CpuidRegs::edx, 26},
                                     {CpuFeature::ssse3, &CpuidRegs::ecx, 9},
                                     {CpuFeature::sse4_1, &CpuidRegs::ecx, 19}};
constexpr FeatureBit kVexLeaf1[] = {{CpuFeature::avx, &CpuidRegs::ecx, 28},
                                    {CpuFeature::f16c, &CpuidRegs::ecx, 29},
                                    {CpuFeature::fma, &CpuidRegs::ecx, 12}};
constexpr FeatureBit kBaseLeaf7[] = {{CpuFeature::bmi2, &CpuidRegs::ebx, 8}};
constexpr FeatureBit kVexLeaf7[] = {{CpuFeature::avx2, &CpuidRegs::ebx, 5}};
constexpr FeatureBit kVexLeaf7Sub1[] = {{CpuFeature::avxvnni, &CpuidRegs::eax, 4}};
constexpr FeatureBit kEvexLeaf7[] = {
    {CpuFeature::avx512f, &CpuidRegs::ebx, 16},   {CpuFeature::avx512dq, &CpuidRegs::ebx, 17},
    {CpuFeature::avx512cd, &CpuidRegs::ebx, 28},  {CpuFeature::avx512bw, &CpuidRegs::ebx, 30},
    {CpuFeature::avx512vl, &CpuidRegs::ebx, 31},  {CpuFeature::avx512vbmi, &CpuidRegs::ecx, 1},
    {CpuFeature::avx512vnni, &CpuidRegs::ecx, 11}};
constexpr FeatureBit kEvexLeaf7Sub1[] = {{CpuFeature::avx512bf16, &CpuidRegs::eax, 5}};

template <std::size_t N>
CpuFeatures read(const CpuidRegs& regs, const FeatureBit (&bits)[N]) noexcept {
  CpuFeatures f;
  for (const FeatureBit& b : bits) {
    if (bit(regs.*b.reg, b.index)) {
      f = f.with(b.feature);
    }
  }
  return f;
}

struct FoundFeatures {
  CpuFeatures usable;
  CpuFeatures not_enabled;  ///< there, but XCR0 does not have their registers
};

FoundFeatures features(const CpuidSource& source, LeafLimits limits) noexcept {
  if (limits.basic < 1) {
    return {};
  }
  const CpuidRegs leaf1 = source.leaf(1, 0);
  const CpuidRegs leaf7 = limits.basic >= 7 ? source.leaf(7, 0) : CpuidRegs{};
  const CpuidRegs leaf7_sub1 = leaf7.eax >= 1 ? source.leaf(7, 1) : CpuidRegs{};

  CpuFeatures f{read(leaf1, kBaseLeaf1).bits | read(leaf7, kBaseLeaf7).bits};
  constexpr unsigned kOsxsave = 27;
  const std::uint64_t xcr0 = bit(leaf1.ecx, kOsxsave) ? source.xgetbv(0) : 0;
  const CpuFeatures vex1 = read(leaf1, kVexLeaf1);
  if (!vex1.has(CpuFeature::avx)) {
    return {f, {}};
  }
  const CpuFeatures vex{vex1.bits | read(leaf7, kVexLeaf7).bits | read(leaf7_sub1, kVexLeaf7Sub1).bits};
  CpuFeatures evex = read(leaf7, kEvexLeaf7);
  evex = evex.has(CpuFeature::avx512f) ? CpuFeatures{evex.bits | read(leaf7_sub1, kEvexLeaf7Sub1).bits} : CpuFeatures{};
  if ((xcr0 & kXcr0Avx) != kXcr0Avx) {
    return {f, {vex.bits | evex.bits}};
  }
  f.bits |= vex.bits;
  if ((xcr0 & kXcr0Avx512) != kXcr0Avx512) {
    return {f, evex};
  }
  f.bits |= evex.bits;
  return {f, {}};
}

/// Leaf 4 of Intel and 0x8000001d of AMD share one layout: a subleaf a cache, type 0 ends the list.
CacheInfo deterministic_caches(const CpuidSource& source, std::uint32_t leaf) noexcept {
  constexpr std::uint32_t kData = 1;
  constexpr std::uint32_t kUnified = 3;
  constexpr std::uint32_t kMaxSubleaf = 16;
  CacheInfo caches;
  for (std::uint32_t i = 0; i < kMaxSubleaf; ++i) {
    const CpuidRegs r = source.leaf(leaf, i);
    const std::uint32_t type = r.eax & 31u;
    if (type == 0) {
      break;
    }
    if (type != kData && type != kUnified) {
      continue;
    }
    const std::uint64_t ways = (r.ebx >> 22) + 1u;
    const std::uint64_t partitions = ((r.ebx >> 12) & 0x3ffu) + 1u;
    const std::uint64_t line = (r.ebx & 0xfffu) + 1u;
    const std::uint64_t size = ways * partitions * line * (std::uint64_t{r.ecx} + 1u);
    switch ((r.eax >> 5) & 7u) {
      case 1:
        caches.l1d = size;
        break;
      case 2:
        caches.l2 = size;
        break;
      case 3:
        caches.l3 = size;
        break;
      default:
        break;
    }
  }
  return plausible(caches);
}

CacheInfo legacy_caches(const CpuidSource& source, LeafLimits limits) noexcept {
  CacheInfo caches;
  if (limits.extended >= kExtendedBase + 5) {
    caches.l1d = std::size_t{source.leaf(kExtendedBase + 5, 0).ecx >> 24} * 1024;
  }
  if (limits.extended >= kExtendedBase + 6) {
    const CpuidRegs r = source.leaf(kExtendedBase + 6, 0);
    caches.l2 = std::size_t{r.ecx >> 16} * 1024;
    const std::uint32_t signature = source.leaf(1, 0).eax;
    const std::uint32_t base_family = (signature >> 8) & 15u;
    const std::uint32_t family = base_family == 15 ? base_family + ((signature >> 20) & 255u) : base_family;
    // Since Zen the L3 here is the sum over all core complexes of the package: no core sees that much.
    constexpr std::uint32_t kFamilyZen = 0x17;
    if (family < kFamilyZen) {
      caches.l3 = std::size_t{r.edx >> 18} * 512 * 1024;
    }
  }
  return plausible(caches);
}

CacheInfo caches(const CpuidSource& source, LeafLimits limits, std::string_view vendor) noexcept {
  CacheInfo found;
  if (vendor == "AuthenticAMD" || vendor == "HygonGenuine") {
    constexpr std::uint32_t kAmdCaches = kExtendedBase + 0x1d;
    constexpr unsigned kTopoext = 22;
    if (limits.extended >= kAmdCaches && bit(source.leaf(kExtendedBase + 1, 0).ecx, kTopoext)) {
      found = deterministic_caches(source, kAmdCaches);
    }
  } else if (limits.basic >= 4) {
    found = deterministic_caches(source, 4);
  }
  // Hypervisors blank the leaves above but keep these.
  return merge(found, legacy_caches(source, limits));
}

}  // namespace

CpuInfo detect_x86(const CpuidSource& source) {
  const LeafLimits limits = leaf_limits(source);
  CpuInfo cpu;
  cpu.arch = "x86_64";
  cpu.vendor = vendor_name(source);
  cpu.brand = brand_name(source, limits);
  const FoundFeatures found = features(source, limits);
  cpu.features = found.usable;
  cpu.not_enabled = found.not_enabled;
  cpu.caches = caches(source, limits, cpu.vendor);
  return cpu;
}

CpuInfo detect_host_cpu() {
  CpuInfo cpu = detect_x86(HardwareCpuid{});
  cpu.caches = merge(cpu.caches, caches_from_sysfs(kSysfsCacheDir));
  return cpu;
}

}  // namespace nibblas

#endif
