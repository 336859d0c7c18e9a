// SPDX-License-Identifier: Apache-2.0
#include "nibblas/cpu.hpp"

#include <array>
#include <new>

#include "cpu_detect.hpp"
#include "immortal.hpp"

namespace nibblas {

namespace {

constexpr std::array<std::string_view, kCpuFeatureCount> kFeatureNames{
    "sse2",    "ssse3",    "sse4_1",   "avx",      "f16c",     "fma",        "avx2",       "bmi2",
    "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "avx512vnni", "avx512bf16", "avx512vbmi",
    "avxvnni", "neon",     "dotprod",  "i8mm",     "fp16",     "sve"};
static_assert(static_cast<std::size_t>(CpuFeature::sve) + 1 == kCpuFeatureCount);

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

constexpr std::size_t within(std::size_t bytes, std::size_t low, std::size_t high) noexcept {
  return bytes >= low && bytes <= high ? bytes : 0;
}

CpuInfo detect_or_nothing() noexcept {
  try {
    return detect_host_cpu();
  } catch (const std::bad_alloc&) {
    return {};  // no features: the scalar kernels still run
  }
}

}  // namespace

std::string_view to_string(CpuFeature f) noexcept {
  const auto i = static_cast<std::size_t>(f);
  return i < kCpuFeatureCount ? kFeatureNames[i] : "invalid";
}

std::string to_string(CpuFeatures f) {
  std::string out;
  for (std::size_t i = 0; i < kCpuFeatureCount; ++i) {
    if (f.has(static_cast<CpuFeature>(i))) {
      if (!out.empty()) {
        out += ' ';
      }
      out += kFeatureNames[i];
    }
  }
  return out;
}

std::string why_missing(const CpuInfo& cpu, CpuFeatures needed) {
  const CpuFeatures missing = cpu.features.missing(needed);
  const CpuFeatures lacked = cpu.not_enabled.missing(missing);
  const CpuFeatures not_enabled = lacked.missing(missing);
  std::string why = lacked == CpuFeatures{} ? "" : "cpu lacks " + to_string(lacked);
  if (not_enabled != CpuFeatures{}) {
    why.append(why.empty() ? "" : "; ").append("the operating system does not enable ").append(to_string(not_enabled));
  }
  return why;
}

CpuFeatures whole_levels(CpuFeatures f) noexcept {
  constexpr CpuFeatures v3 = CpuFeatures{}
                                 .with(CpuFeature::ssse3)
                                 .with(CpuFeature::sse4_1)
                                 .with(CpuFeature::avx)
                                 .with(CpuFeature::f16c)
                                 .with(CpuFeature::fma)
                                 .with(CpuFeature::avx2)
                                 .with(CpuFeature::bmi2);
  constexpr CpuFeatures v4 = v3.with(CpuFeature::avx512f)
                                 .with(CpuFeature::avx512bw)
                                 .with(CpuFeature::avx512vl)
                                 .with(CpuFeature::avx512dq)
                                 .with(CpuFeature::avx512cd);
  if (f.has(CpuFeature::avx512f)) return {f.bits | v4.bits};
  return f.has(CpuFeature::avx2) ? CpuFeatures{f.bits | v3.bits} : f;
}

CacheInfo plausible(CacheInfo c) noexcept {
  return {within(c.l1d, 4 * kKiB, kMiB), within(c.l2, 32 * kKiB, 256 * kMiB), within(c.l3, 256 * kKiB, 4096 * kMiB)};
}

CacheInfo merge(CacheInfo first, CacheInfo second) noexcept {
  return {first.l1d != 0 ? first.l1d : second.l1d, first.l2 != 0 ? first.l2 : second.l2,
          first.l3 != 0 ? first.l3 : second.l3};
}

const CpuInfo& host_cpu() noexcept {
  static Immortal<CpuInfo> info(detect_or_nothing());
  return info.get();
}

#if !defined(__x86_64__) && !defined(__aarch64__)
CpuInfo detect_host_cpu() {
  CpuInfo cpu;
  cpu.arch = "unknown";
  cpu.caches = caches_from_sysfs(kSysfsCacheDir);
  return cpu;
}
#endif

}  // namespace nibblas
