// SPDX-License-Identifier: Apache-2.0
#include "limits/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "limits/kernels.hpp"
#include "limits/probe.hpp"
#include "machine.hpp"
#include "nibblas/buffer.hpp"

namespace nibblas::bench {
namespace {

Limits made_limits() {
  const CpuFeatures avx2 = CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::fma);
  const CpuFeatures vnni = CpuFeatures{}.with(CpuFeature::avx512f).with(CpuFeature::avx512vnni);
  Limits l;
  const CpuFeatures avx512f = CpuFeatures{}.with(CpuFeature::avx512f);
  l.peaks = {{"base", "", "", {}, {}, 10, 20},
             {"avx2", "", "", avx2, avx2, 100, 200},
             {"avx512", "", "", vnni, avx512f, 1000, 2000}};
  return l;
}

TEST(Limits, AreThoseOfTheKernelsOwnIsaAndType) {
  const Limits l = made_limits();
  const CpuFeatures avx2 = CpuFeatures{}.with(CpuFeature::avx).with(CpuFeature::fma).with(CpuFeature::avx2);
  const CpuFeatures avx512 = avx2.with(CpuFeature::avx512f).with(CpuFeature::avx512bw).with(CpuFeature::avx512vnni);
  EXPECT_EQ(peak_for(l, {}, Compute::f32).isa, "base");
  EXPECT_EQ(peak_for(l, CpuFeatures{}.with(CpuFeature::avx2), Compute::int8).isa, "base") << "avx2 without fma";
  EXPECT_EQ(limit_gops(l, avx2, Compute::f32), 100);
  EXPECT_EQ(limit_gops(l, avx2, Compute::int8), 200);
  EXPECT_EQ(limit_gops(l, avx512, Compute::int8_token), 2000);
  EXPECT_EQ(limit_gops(l, avx512, Compute::f32), 1000);
  const CpuFeatures without_vnni = avx512.without(CpuFeature::avx512vnni);
  EXPECT_EQ(peak_for(l, without_vnni, Compute::f32).isa, "avx512");
  EXPECT_EQ(peak_for(l, without_vnni, Compute::int8).isa, "avx2");
}

TEST(Limits, PeaksCountTheirOperations) {
  for (const LimitIsa* isa : limit_isas()) {
    if (!host_cpu().features.includes(isa->needs)) continue;
    float f = 0;
    std::int32_t i = 0;
    EXPECT_GT(isa->f32(1, &f), 0) << isa->name;
    EXPECT_DOUBLE_EQ(isa->f32(1000, &f), 1000 * isa->f32(1, &f)) << isa->name;
    EXPECT_DOUBLE_EQ(isa->int8(1000, &i), 1000 * isa->int8(1, &i)) << isa->name;
    EXPECT_NE(f, 0) << isa->name;
    EXPECT_NE(i, 0) << isa->name;
  }
}

TEST(Limits, ReadingSeesEveryLine) {
  constexpr std::size_t kBytes = 16 << 10;
  Buffer buffer(2 * kBytes);
  ASSERT_NE(buffer.data(), nullptr);
  for (const LimitIsa* isa : limit_isas()) {
    if (!host_cpu().features.includes(isa->needs)) continue;
    for (const std::size_t streams : {1u, 4u, 8u}) {
      for (const std::size_t prefetch : {0u, 1024u}) {
        std::fill_n(buffer.data(), buffer.size(), std::byte{0});
        const ReadArgs args{buffer.data(), kBytes, streams, prefetch};
        EXPECT_EQ(isa->read(args), 0u);
        for (std::size_t at = 0; at < kBytes; at += 64) {
          buffer.data()[at] = std::byte{1};
          ASSERT_NE(isa->read(args), 0u) << isa->name << " does not read byte " << at;
          buffer.data()[at] = std::byte{0};
        }
      }
    }
  }
}

TEST(Limits, MeasuresThisMachine) {
  const auto limits = measure_limits(host_cpu(), {1});
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  ASSERT_EQ(limits->size(), 1u);
  EXPECT_GT(limits->front().dram_gbs, 0.1);
  EXPECT_NE(limits->front().dram_streams, 0u);
  ASSERT_FALSE(limits->front().peaks.empty());
  for (const IsaPeak& p : limits->front().peaks) {
    EXPECT_GT(p.f32_gops, 0.1) << p.isa;
    EXPECT_GT(p.int8_gops, 0.1) << p.isa;
  }
}

TEST(LimitProbe, ItsDosesAreShortAndOnAllThreads) {
  const CpuFeatures avx2 = CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::fma);
  Limits l;
  l.dram_streams = 1;
  l.reader = limit_isas().front();
  l.peaks = {{"base", "", "", {}, {}, 1, 2, l.reader}, {"avx2", "", "", avx2, avx2, 1000, 2000, l.reader}};
  for (const Compute compute : {Compute::f32, Compute::int8}) {
    const double before = LimitProbe(l, {}, compute, serial_executor()).operations();
    EXPECT_NEAR(before, (compute == Compute::f32 ? 1 : 2) * 1e9 * 2e-4, 2000) << "of 0.2 ms";
    const LimitProbe faster(l, avx2, compute, serial_executor());
    EXPECT_NEAR(faster.operations(), 1000 * before, 1e-3 * faster.operations());
    faster.compute();
  }
  const std::vector<std::byte> bytes(1000);
  ThreadPool pool(2);
  LimitProbe(l, {}, Compute::f32, pool).read(bytes);
  LimitProbe(l, {}, Compute::f32, pool).read({});
}

TEST(Machine, Ranges) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({3}), "3");
  EXPECT_EQ(ranges({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

}  // namespace
}  // namespace nibblas::bench
