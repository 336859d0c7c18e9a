// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "ascii.hpp"
#include "cpu_detect.hpp"
#include "nibblas/cpu.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nibblas {
namespace {

TEST(CpuFeatures, EveryFeatureHasItsOwnName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCpuFeatureCount; ++i) {
    names.insert(to_string(static_cast<CpuFeature>(i)));
  }
  EXPECT_EQ(names.size(), kCpuFeatureCount);
  EXPECT_FALSE(names.contains("invalid"));
  EXPECT_EQ(to_string(static_cast<CpuFeature>(kCpuFeatureCount)), "invalid");
  EXPECT_EQ(to_string(CpuFeature::avx512vnni), "avx512vnni");
  EXPECT_EQ(to_string(CpuFeature::sve), "sve");
  EXPECT_EQ(to_string(CpuFeature::neon), "neon");
  EXPECT_EQ(to_string(CpuFeature::avx512cd), "avx512cd");
}

TEST(CpuFeatures, SetsPrintInEnumOrder) {
  const CpuFeatures f = CpuFeatures{}.with(CpuFeature::fma).with(CpuFeature::avx2).with(CpuFeature::f16c);
  EXPECT_EQ(to_string(f), "f16c fma avx2");
  EXPECT_EQ(to_string(CpuFeatures{}), "");
  EXPECT_EQ(to_string(f.missing(CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::bmi2))), "bmi2");
  EXPECT_TRUE(f.includes(f.without(CpuFeature::avx2)));
  EXPECT_FALSE(f.without(CpuFeature::avx2).includes(f));
}

TEST(Caches, SizesThatNoCacheHasAreUnknown) {
  const CacheInfo good = plausible({48 << 10, 2 << 20, std::size_t{260} << 20});
  EXPECT_EQ(good.l1d, 48u << 10);
  EXPECT_EQ(good.l2, 2u << 20);
  EXPECT_EQ(good.l3, 260u << 20);
  const CacheInfo zero = plausible({0, 0, 0});
  EXPECT_EQ(zero.l1d + zero.l2 + zero.l3, 0u);
  const CacheInfo tiny = plausible({1, 64, 1024});
  EXPECT_EQ(tiny.l1d + tiny.l2 + tiny.l3, 0u);
  const CacheInfo huge = plausible({std::size_t{1} << 30, std::size_t{1} << 32, std::size_t{1} << 40});
  EXPECT_EQ(huge.l1d + huge.l2 + huge.l3, 0u);
}

TEST(Caches, MergeFillsOnlyWhatIsUnknown) {
  const CacheInfo m = merge({1, 0, 3}, {10, 20, 30});
  EXPECT_EQ(m.l1d, 1u);
  EXPECT_EQ(m.l2, 20u);
  EXPECT_EQ(m.l3, 3u);
}

TEST(HostCpu, IsDetectedOnce) { EXPECT_EQ(&host_cpu(), &host_cpu()); }

TEST(HostCpu, KnowsItsArchitecture) {
#if defined(__x86_64__)
  EXPECT_EQ(host_cpu().arch, "x86_64");
  EXPECT_TRUE(host_cpu().features.has(CpuFeature::sse2));
  EXPECT_FALSE(host_cpu().features.has(CpuFeature::neon));
  EXPECT_EQ(host_cpu().vendor.size(), 12u);
#elif defined(__aarch64__)
  EXPECT_EQ(host_cpu().arch, "aarch64");
  EXPECT_TRUE(host_cpu().features.has(CpuFeature::neon));
  EXPECT_FALSE(host_cpu().features.has(CpuFeature::sse2));
#endif
}

// The kernel's own list is an independent witness. Under user-mode emulation /proc/cpuinfo is the host's and the CPU
// has another model: there only the machine's own run can tell.
TEST(HostCpu, AgreesWithTheKernel) {
#if defined(__x86_64__)
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  std::string vendor;
  std::map<std::string, unsigned> numbers;
  std::set<std::string> flags;
  while (flags.empty() && std::getline(in, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    std::istringstream rest(line.substr(colon + 1));
    if (line.starts_with("vendor_id")) {
      rest >> vendor;
    } else if (line.starts_with("flags")) {
      for (std::string flag; rest >> flag;) {
        flags.insert(flag);
      }
    } else if (unsigned number = 0; rest >> number) {
      numbers[std::string(ascii_trim(line.substr(0, colon)))] = number;
    }
  }
  if (flags.empty() || vendor != host_cpu().vendor) {
    GTEST_SKIP() << "no /proc/cpuinfo of this CPU";
  }
  std::uint32_t signature = 0;
  std::uint32_t rest = 0;
  ASSERT_NE(__get_cpuid(1, &signature, &rest, &rest, &rest), 0);
  const std::uint32_t base_family = (signature >> 8) & 15u;
  const std::uint32_t family = base_family + (base_family == 15 ? (signature >> 20) & 255u : 0);
  const std::uint32_t model = ((signature >> 4) & 15u) | (family >= 6 ? (signature >> 12) & 0xf0u : 0);
  if (numbers["cpu family"] != family || numbers["model"] != model || numbers["stepping"] != (signature & 15u)) {
    GTEST_SKIP() << "an emulator: /proc/cpuinfo is of family " << numbers["cpu family"] << " model " << numbers["model"]
                 << ", CPUID says family " << family << " model " << model;
  }
  const std::pair<CpuFeature, const char*> names[] = {{CpuFeature::sse2, "sse2"},
                                                      {CpuFeature::ssse3, "ssse3"},
                                                      {CpuFeature::sse4_1, "sse4_1"},
                                                      {CpuFeature::avx, "avx"},
                                                      {CpuFeature::f16c, "f16c"},
                                                      {CpuFeature::fma, "fma"},
                                                      {CpuFeature::avx2, "avx2"},
                                                      {CpuFeature::bmi2, "bmi2"},
                                                      {CpuFeature::avx512f, "avx512f"},
                                                      {CpuFeature::avx512bw, "avx512bw"},
                                                      {CpuFeature::avx512vl, "avx512vl"},
                                                      {CpuFeature::avx512dq, "avx512dq"},
                                                      {CpuFeature::avx512cd, "avx512cd"},
                                                      {CpuFeature::avx512vnni, "avx512_vnni"},
                                                      {CpuFeature::avx512bf16, "avx512_bf16"},
                                                      {CpuFeature::avx512vbmi, "avx512vbmi"},
                                                      {CpuFeature::avxvnni, "avx_vnni"}};
  for (const auto& [feature, flag] : names) {
    EXPECT_EQ(host_cpu().features.has(feature), flags.contains(flag)) << flag;
  }
#else
  GTEST_SKIP() << "names of this architecture's flags are not compared";
#endif
}

}  // namespace
}  // namespace nibblas
