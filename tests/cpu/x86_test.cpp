// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>

#include "cpu_detect.hpp"

#if defined(__x86_64__)

namespace nibblas {
namespace {

/// A processor on paper. Leaves that were not set read as zeros, or as `beyond` above the highest basic leaf.
class PaperCpu final : public CpuidSource {
 public:
  PaperCpu& set(std::uint32_t eax, std::uint32_t ecx, CpuidRegs regs) {
    leaves_[{eax, ecx}] = regs;
    return *this;
  }
  CpuidRegs& at(std::uint32_t eax, std::uint32_t ecx = 0) { return leaves_[{eax, ecx}]; }
  PaperCpu& vendor(const char (&name)[13]) {
    CpuidRegs& r = at(0);
    std::memcpy(&r.ebx, name, 4);
    std::memcpy(&r.edx, name + 4, 4);
    std::memcpy(&r.ecx, name + 8, 4);
    return *this;
  }

  CpuidRegs leaf(std::uint32_t eax, std::uint32_t ecx) const noexcept override {
    if (beyond && eax > leaves_.at({0, 0}).eax && eax < 0x80000000u) {
      return *beyond;
    }
    const auto it = leaves_.find({eax, ecx});
    return it == leaves_.end() ? CpuidRegs{} : it->second;
  }
  std::uint64_t xgetbv(std::uint32_t index) const noexcept override {
    EXPECT_TRUE((leaves_.at({1, 0}).ecx >> 27) & 1u) << "xgetbv without OSXSAVE faults";
    EXPECT_EQ(index, 0u);
    return xcr0;
  }

  std::uint64_t xcr0 = 0;
  const CpuidRegs* beyond = nullptr;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegs> leaves_;
};

constexpr std::uint32_t bit(unsigned i) { return std::uint32_t{1} << i; }

// ecx of leaf 1
constexpr std::uint32_t kSsse3 = bit(9);
constexpr std::uint32_t kFma = bit(12);
constexpr std::uint32_t kSse41 = bit(19);
constexpr std::uint32_t kOsxsave = bit(27);
constexpr std::uint32_t kAvx = bit(28);
constexpr std::uint32_t kF16c = bit(29);
constexpr std::uint32_t kHaswellEcx = kSsse3 | kFma | kSse41 | kOsxsave | kAvx | kF16c;
constexpr std::uint32_t kSse2Edx = bit(26);
// ebx of leaf 7
constexpr std::uint32_t kAvx2 = bit(5);
constexpr std::uint32_t kBmi2 = bit(8);
constexpr std::uint32_t kF = bit(16);
constexpr std::uint32_t kDq = bit(17);
constexpr std::uint32_t kCd = bit(28);
constexpr std::uint32_t kBw = bit(30);
constexpr std::uint32_t kVl = bit(31);
// ecx of leaf 7
constexpr std::uint32_t kVbmi = bit(1);
constexpr std::uint32_t kVnni = bit(11);
// eax of leaf 7, subleaf 1
constexpr std::uint32_t kAvxVnni = bit(4);
constexpr std::uint32_t kBf16 = bit(5);

PaperCpu nehalem() {
  PaperCpu c;
  c.set(0, 0, {0xb, 0, 0, 0}).vendor("GenuineIntel");
  c.set(1, 0, {0x106a5, 0, kSsse3 | kSse41 | bit(20) | bit(23), 0xbfebfbff});
  c.set(0x80000000u, 0, {0x80000008u, 0, 0, 0});
  return c;
}

PaperCpu haswell() {
  PaperCpu c;
  c.set(0, 0, {0xd, 0, 0, 0}).vendor("GenuineIntel");
  c.set(1, 0, {0x306c3, 0, kHaswellEcx, kSse2Edx});
  c.set(4, 0, {0x1c004121, 0x01c0003f, 0x0000003f, 0});  // 32 KiB data
  c.set(4, 1, {0x1c004122, 0x01c0003f, 0x0000003f, 0});  // 32 KiB instructions
  c.set(4, 2, {0x1c004143, 0x01c0003f, 0x000001ff, 0});  // 256 KiB
  c.set(4, 3, {0x1c03c163, 0x03c0003f, 0x00001fff, 6});  // 8 MiB
  c.set(7, 0, {0, kAvx2 | kBmi2, 0, 0});
  c.set(0x80000000u, 0, {0x80000008u, 0, 0, 0});
  c.xcr0 = 7;
  return c;
}

/// With every AVX-512 subset that we know, and AVX-VNNI.
PaperCpu sapphire_rapids() {
  PaperCpu c = haswell();
  c.at(7) = {1, kAvx2 | kBmi2 | kF | kDq | kCd | kBw | kVl, kVbmi | kVnni, 0};
  c.at(7, 1) = {kAvxVnni | kBf16, 0, 0, 0};
  c.at(4, 0) = {0x1c004121, 0x02c0003f, 0x0000003f, 0};  // 48 KiB
  c.at(4, 2) = {0x1c004143, 0x03c0003f, 0x000007ff, 0};  // 2 MiB
  c.xcr0 = 0x602e7;
  return c;
}

/// Recorded in a virtual machine on Zen 5: the hypervisor hides TOPOEXT, blanks leaf 0x8000001d and leaves the old
/// cache leaves.
PaperCpu zen5_guest() {
  PaperCpu c;
  c.set(0, 0, {0xd, 0x68747541, 0x444d4163, 0x69746e65});
  c.set(1, 0, {0x00b00f21, 0x70fe0800, 0xfed83203, 0x178bfbff});
  c.set(7, 0, {1, 0xf1bb03a9, 0x18005f42, 0x110});
  c.set(7, 1, {0x30, 0, 0, 0});
  c.set(0x80000000u, 0, {0x80000021u, 0x68747541, 0x444d4163, 0x69746e65});
  c.set(0x80000001u, 0, {0x00b00f21, 0x40000000, 0x440001f1, 0x25d3fbff});
  c.set(0x80000005u, 0, {0xff60ff40, 0xff60ff40, 0x300c0140, 0x20080140});
  c.set(0x80000006u, 0, {0x40802040, 0x60804040, 0x04006140, 0x0fe09140});
  c.xcr0 = 0xe7;
  return c;
}

std::string features(const PaperCpu& c) { return to_string(detect_x86(c).features); }
bool has(const PaperCpu& c, CpuFeature f) { return detect_x86(c).features.has(f); }

constexpr const char* kFull =
    "sse2 ssse3 sse4_1 avx f16c fma avx2 bmi2 avx512f avx512bw avx512vl avx512dq avx512cd avx512vnni avx512bf16 "
    "avx512vbmi avxvnni";

TEST(X86, Nehalem) { EXPECT_EQ(features(nehalem()), "sse2 ssse3 sse4_1"); }
TEST(X86, Haswell) { EXPECT_EQ(features(haswell()), "sse2 ssse3 sse4_1 avx f16c fma avx2 bmi2"); }
TEST(X86, SapphireRapids) { EXPECT_EQ(features(sapphire_rapids()), kFull); }
TEST(X86, Zen5) { EXPECT_EQ(features(zen5_guest()), kFull); }

TEST(X86, OsxsaveOffMeansNoVectorsBeyondSse) {
  PaperCpu c = sapphire_rapids();
  c.at(1).ecx &= ~kOsxsave;
  EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 bmi2");
}

TEST(X86, YmmStateOffMeansNoAvx) {
  for (const std::uint64_t xcr0 : {0x0u, 0x1u, 0x3u, 0x5u, 0xe3u, 0xe5u}) {
    PaperCpu c = sapphire_rapids();
    c.xcr0 = xcr0;
    EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 bmi2") << xcr0;
  }
}

TEST(X86, EachPartOfZmmStateIsNeeded) {
  for (const std::uint64_t xcr0 : {0x07u, 0x27u, 0x47u, 0x67u, 0x87u, 0xa7u, 0xc7u}) {
    PaperCpu c = sapphire_rapids();
    c.xcr0 = xcr0;
    EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 avx f16c fma avx2 bmi2 avxvnni") << xcr0;
  }
}

TEST(X86, WhatTheSystemDoesNotEnableIsKnown) {
  const auto not_enabled = [](const PaperCpu& c) { return to_string(detect_x86(c).not_enabled); };
  EXPECT_EQ(not_enabled(sapphire_rapids()), "");
  EXPECT_EQ(not_enabled(nehalem()), "");
  constexpr const char* vectors =
      "avx f16c fma avx2 avx512f avx512bw avx512vl avx512dq avx512cd avx512vnni avx512bf16 avx512vbmi avxvnni";
  PaperCpu c = sapphire_rapids();
  c.at(1).ecx &= ~kOsxsave;
  EXPECT_EQ(not_enabled(c), vectors);
  c = sapphire_rapids();
  c.xcr0 = 3;
  EXPECT_EQ(not_enabled(c), vectors);
  c.xcr0 = 7;
  EXPECT_EQ(not_enabled(c), "avx512f avx512bw avx512vl avx512dq avx512cd avx512vnni avx512bf16 avx512vbmi");
  c.at(7).ebx &= ~kF;
  EXPECT_EQ(not_enabled(c), "") << "subsets without foundation are nowhere";
  c = haswell();
  c.xcr0 = 0;
  EXPECT_EQ(not_enabled(c), "avx f16c fma avx2");
  c.at(1).ecx &= ~kAvx;
  EXPECT_EQ(not_enabled(c), "");
}

TEST(X86, Avx2WithoutFma) {
  PaperCpu c = haswell();
  c.at(1).ecx &= ~kFma;
  EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 avx f16c avx2 bmi2");
}

TEST(X86, Avx2BitWithoutAvxBitIsAHypervisorsMistake) {
  PaperCpu c = sapphire_rapids();
  c.at(1).ecx &= ~kAvx;
  EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 bmi2");
}

TEST(X86, Avx512SubsetsAreSeparate) {
  const struct {
    std::uint32_t CpuidRegs::*reg;
    std::uint32_t mask;
    CpuFeature feature;
  } subsets[] = {{&CpuidRegs::ebx, kDq, CpuFeature::avx512dq},     {&CpuidRegs::ebx, kCd, CpuFeature::avx512cd},
                 {&CpuidRegs::ebx, kBw, CpuFeature::avx512bw},     {&CpuidRegs::ebx, kVl, CpuFeature::avx512vl},
                 {&CpuidRegs::ecx, kVnni, CpuFeature::avx512vnni}, {&CpuidRegs::ecx, kVbmi, CpuFeature::avx512vbmi}};
  const CpuFeatures full = detect_x86(sapphire_rapids()).features;
  for (const auto& s : subsets) {
    PaperCpu c = sapphire_rapids();
    c.at(7).*s.reg &= ~s.mask;
    EXPECT_EQ(detect_x86(c).features, full.without(s.feature)) << to_string(s.feature);
  }
  PaperCpu knights = haswell();  // F and CD alone
  knights.at(7).ebx |= kF | kCd;
  knights.xcr0 = 0xe7;
  EXPECT_EQ(features(knights), "sse2 ssse3 sse4_1 avx f16c fma avx2 bmi2 avx512f avx512cd");
}

TEST(X86, SubsetsWithoutFoundationDoNotCount) {
  PaperCpu c = sapphire_rapids();
  c.at(7).ebx &= ~kF;
  EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 avx f16c fma avx2 bmi2 avxvnni");
}

TEST(X86, AvxVnniWithoutAvx512) {  // Alder Lake
  PaperCpu c = haswell();
  c.at(7).eax = 1;
  c.at(7, 1).eax = kAvxVnni;
  EXPECT_TRUE(has(c, CpuFeature::avxvnni));
  EXPECT_FALSE(has(c, CpuFeature::avx512vnni));
  c.xcr0 = 3;
  EXPECT_FALSE(has(c, CpuFeature::avxvnni));
}

TEST(X86, Avx10BitAloneIsNoAvx512) {
  PaperCpu c = haswell();
  c.at(7).eax = 1;
  c.at(7, 1).edx = bit(19);
  c.xcr0 = 0xe7;
  EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 avx f16c fma avx2 bmi2");
}

TEST(X86, SubleafOneIsReadOnlyWhenItExists) {
  PaperCpu c = sapphire_rapids();
  c.at(7).eax = 0;
  EXPECT_FALSE(has(c, CpuFeature::avxvnni));
  EXPECT_FALSE(has(c, CpuFeature::avx512bf16));
}

TEST(X86, LeavesBeyondTheHighestAreNotBelieved) {
  const CpuidRegs ones{~0u, ~0u, ~0u, ~0u};
  PaperCpu c = haswell();
  c.at(0).eax = 3;  // a BIOS option that limits CPUID; leaves above answer with garbage
  c.beyond = &ones;
  EXPECT_EQ(features(c), "sse2 ssse3 sse4_1 avx f16c fma");
  EXPECT_EQ(detect_x86(c).caches.l1d, 0u);
  PaperCpu none;
  none.set(0, 0, {});
  none.beyond = &ones;
  EXPECT_EQ(features(none), "");
}

TEST(X86, Vendors) {
  EXPECT_EQ(detect_x86(haswell()).vendor, "GenuineIntel");
  EXPECT_EQ(detect_x86(zen5_guest()).vendor, "AuthenticAMD");
  EXPECT_EQ(detect_x86(haswell().vendor("HygonGenuine")).vendor, "HygonGenuine");
  EXPECT_EQ(detect_x86(haswell().vendor("  Shanghai  ")).vendor, "  Shanghai  ");
  PaperCpu silent;
  silent.set(0, 0, {});
  EXPECT_EQ(detect_x86(silent).vendor, "");
  EXPECT_EQ(detect_x86(silent).arch, "x86_64");
}

TEST(X86, Brand) {
  PaperCpu c = haswell();
  const char name[49] = "   Some(R) Processor @ 3.00GHz\0 junk after the 0";
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::memcpy(&c.at(0x80000002u + i), name + 16 * i, 16);
  }
  EXPECT_EQ(detect_x86(c).brand, "Some(R) Processor @ 3.00GHz");
  c.at(0x80000000u).eax = 0x80000003u;
  EXPECT_EQ(detect_x86(c).brand, "");
  for (std::uint32_t i = 0; i < 3; ++i) {
    c.at(0x80000002u + i) = {0x61616161, 0x61616161, 0x61616161, 0x61616161};
  }
  c.at(0x80000000u).eax = 0x80000004u;
  EXPECT_EQ(detect_x86(c).brand, std::string(48, 'a'));
}

TEST(X86Caches, IntelLeaf4) {
  const CacheInfo h = detect_x86(haswell()).caches;
  EXPECT_EQ(h.l1d, 32u << 10);
  EXPECT_EQ(h.l2, 256u << 10);
  EXPECT_EQ(h.l3, 8u << 20);
  const CacheInfo s = detect_x86(sapphire_rapids()).caches;
  EXPECT_EQ(s.l1d, 48u << 10);
  EXPECT_EQ(s.l2, 2u << 20);
}

TEST(X86Caches, AmdLeaf8000001d) {
  PaperCpu c = zen5_guest();
  c.at(0x80000001u).ecx |= bit(22);
  c.set(0x8000001du, 0, {0x00004121, 0x02c0003f, 0x0000003f, 0});  // 48 KiB data
  c.set(0x8000001du, 1, {0x00004122, 0x01c0003f, 0x0000003f, 0});  // 32 KiB instructions
  c.set(0x8000001du, 2, {0x00004143, 0x03c0003f, 0x000003ff, 0});  // 1 MiB
  c.set(0x8000001du, 3, {0x0003c163, 0x03c0003f, 0x00007fff, 0});  // 32 MiB
  CacheInfo info = detect_x86(c).caches;
  EXPECT_EQ(info.l1d, 48u << 10);
  EXPECT_EQ(info.l2, 1u << 20);
  EXPECT_EQ(info.l3, 32u << 20);
  c.vendor("HygonGenuine");
  EXPECT_EQ(detect_x86(c).caches.l3, 32u << 20);
  c.at(0x80000001u).ecx &= ~bit(22);  // no topology extensions: the leaf is not defined
  EXPECT_EQ(detect_x86(c).caches.l3, 0u);
}

TEST(X86Caches, AmdLeaf4IsNotRead) {
  PaperCpu c = zen5_guest();
  c.set(4, 0, {0x00004121, 0x01c0003f, 0x0000003f, 0});
  EXPECT_EQ(detect_x86(c).caches.l1d, 48u << 10);
}

TEST(X86Caches, BlankedLeavesFallBackToTheOldOnes) {
  const CacheInfo info = detect_x86(zen5_guest()).caches;
  EXPECT_EQ(info.l1d, 48u << 10);
  EXPECT_EQ(info.l2, 1u << 20);
  EXPECT_EQ(info.l3, 0u);  // the leaf's 508 MiB are all complexes of the package together
}

TEST(X86Caches, OldAmdL3IsOneCache) {
  PaperCpu c = zen5_guest();
  c.at(0x80000000u).eax = 0x8000001bu;
  c.at(1).eax = 0x00100f43;             // family 0x10
  c.at(0x80000006u).edx = 0x0030b140u;  // 12 times 512 KiB
  EXPECT_EQ(detect_x86(c).caches.l3, 6u << 20);
}

TEST(X86Caches, TheHighestExtendedLeafIsRespected) {
  PaperCpu c = zen5_guest();
  c.at(0x80000000u).eax = 0x80000004u;
  const CacheInfo info = detect_x86(c).caches;
  EXPECT_EQ(info.l1d + info.l2 + info.l3, 0u);
  c.at(0x80000000u).eax = 0x1234;  // a CPU without extended leaves answers with anything
  EXPECT_EQ(detect_x86(c).caches.l1d, 0u);
}

TEST(X86Caches, NonsenseIsUnknown) {
  PaperCpu c = haswell();
  c.at(4, 0).ecx = 0;                                    // 512 bytes of L1
  c.at(4, 2) = {0x1c004143, 0xffffffff, 0xffffffff, 0};  // 2^64 bytes of L2
  c.at(4, 3) = {0x1c03c163, 0x03c0003f, 0x0fffffff, 6};  // 256 GiB of L3
  const CacheInfo info = detect_x86(c).caches;
  EXPECT_EQ(info.l1d, 0u);
  EXPECT_EQ(info.l2, 0u);
  EXPECT_EQ(info.l3, 0u);
}

TEST(X86Caches, AListThatNeverEndsEnds) {
  class Endless final : public CpuidSource {
   public:
    CpuidRegs leaf(std::uint32_t eax, std::uint32_t) const noexcept override {
      return eax == 4 ? CpuidRegs{0x121, 0x01c0003f, 0x3f, 0} : CpuidRegs{4, 0, 0, 0};
    }
    std::uint64_t xgetbv(std::uint32_t) const noexcept override { return 0; }
  };
  EXPECT_EQ(detect_x86(Endless{}).caches.l1d, 32u << 10);
}

}  // namespace
}  // namespace nibblas

#endif
