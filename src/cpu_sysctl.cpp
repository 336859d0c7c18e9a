// SPDX-License-Identifier: Apache-2.0
#include "cpu_detect.hpp"

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace nibblas {

namespace {

std::size_t size_of_cache(const SysctlSource& source, const char* of_fast_cores, const char* of_all) noexcept {
  std::int64_t bytes = source.value(of_fast_cores);
  if (bytes <= 0) {
    bytes = source.value(of_all);
  }
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

#if defined(__APPLE__)
class HostSysctl final : public SysctlSource {
 public:
  std::int64_t value(const char* name) const noexcept override {
    std::int64_t number = 0;  // some names have 4 bytes, on little-endian machines
    std::size_t bytes = sizeof number;
    return sysctlbyname(name, &number, &bytes, nullptr, 0) == 0 ? number : -1;
  }
};
#endif

}  // namespace

CpuFeatures features_from_sysctl(const SysctlSource& source) noexcept {
  CpuFeatures f;
  if (source.value("hw.optional.AdvSIMD") <= 0 && source.value("hw.optional.neon") <= 0) {
    return f;
  }
  f = f.with(CpuFeature::neon);
  struct Name {
    const char* name;
    CpuFeature feature;
  };
  for (const Name& n :
       {Name{"hw.optional.arm.FEAT_DotProd", CpuFeature::dotprod}, Name{"hw.optional.arm.FEAT_I8MM", CpuFeature::i8mm},
        Name{"hw.optional.arm.FEAT_FP16", CpuFeature::fp16}}) {
    if (source.value(n.name) > 0) {
      f = f.with(n.feature);
    }
  }
  return f;
}

CacheInfo caches_from_sysctl(const SysctlSource& source) noexcept {
  CacheInfo c;
  c.l1d = size_of_cache(source, "hw.perflevel0.l1dcachesize", "hw.l1dcachesize");
  c.l2 = size_of_cache(source, "hw.perflevel0.l2cachesize", "hw.l2cachesize");
  c.l3 = size_of_cache(source, "hw.perflevel0.l3cachesize", "hw.l3cachesize");
  return plausible(c);
}

#if defined(__APPLE__)
CpuFeatures features_of_apple_host() noexcept { return features_from_sysctl(HostSysctl{}); }
CacheInfo caches_of_apple_host() noexcept { return caches_from_sysctl(HostSysctl{}); }
#endif

}  // namespace nibblas
