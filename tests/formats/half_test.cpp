// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "formats/half.hpp"
#include "formats/reference.hpp"
#include "nibblas/cpu.hpp"
#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }
float from_bits(std::uint32_t u) { return std::bit_cast<float>(u); }

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Half, EveryPatternDecodes) {
  for (std::uint32_t h = 0; h <= 0xffffu; ++h) {
    const float got = f16_to_f32(static_cast<std::uint16_t>(h));
    const double want = test::reference_half(h);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << h;
      EXPECT_NE(bits(got) & 0x400000u, 0u) << "not quiet: " << h;
      continue;
    }
    ASSERT_EQ(bits(got), bits(static_cast<float>(want))) << h;
  }
}

TEST(Half, EveryPatternSurvivesARoundTrip) {
  for (std::uint32_t h = 0; h <= 0xffffu; ++h) {
    const bool nan = (h & 0x7fffu) > 0x7c00u;
    ASSERT_EQ(f32_to_f16(f16_to_f32(static_cast<std::uint16_t>(h))), nan ? h | 0x200u : h);
  }
}

/// Nearest even by search among all finite halves; halfway and beyond the last one is Inf.
class NearestHalf {
 public:
  NearestHalf() {
    for (unsigned h = 0; h < 0x7c00u; ++h) values_.push_back(test::reference_half(h));
    values_.push_back(65536.0);
  }
  std::uint32_t operator()(float f) const {
    const double a = std::fabs(static_cast<double>(f));
    const std::uint32_t sign = std::signbit(f) ? 0x8000u : 0u;
    if (a >= 65536.0) return sign | 0x7c00u;
    const auto above = std::upper_bound(values_.begin(), values_.end(), a);
    const auto low = static_cast<std::uint32_t>(above - values_.begin()) - 1;
    const double down = a - values_[low];
    const double up = *above - a;
    return sign | (down < up || (down == up && low % 2 == 0) ? low : low + 1);
  }

 private:
  std::vector<double> values_;
};

TEST(Half, TiesAndTheirNeighboursRoundToEven) {
  const NearestHalf nearest;
  for (unsigned h = 0; h < 0x7c00u; ++h) {
    const double low = test::reference_half(h);
    const double high = h + 1 < 0x7c00u ? test::reference_half(h + 1) : 65536.0;
    const auto tie = static_cast<float>((low + high) / 2);
    for (const float f : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, kInf)}) {
      ASSERT_EQ(f32_to_f16(f), nearest(f)) << f;
      ASSERT_EQ(f32_to_f16(-f), nearest(-f)) << -f;
    }
    ASSERT_EQ(f32_to_f16(tie), h % 2 == 0 ? h : h + 1) << tie;
  }
}

TEST(Half, RandomPatternsRoundToNearest) {
  const NearestHalf nearest;
  std::mt19937 rng(1);
  for (int i = 0; i < 1000000; ++i) {
    const float f = from_bits(static_cast<std::uint32_t>(rng()));
    if (!std::isnan(f)) {
      ASSERT_EQ(f32_to_f16(f), nearest(f)) << f;
    }
  }
}

TEST(Half, SpecialValues) {
  EXPECT_EQ(f32_to_f16(0.0f), 0u);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000u);
  EXPECT_EQ(f32_to_f16(kInf), 0x7c00u);
  EXPECT_EQ(f32_to_f16(-kInf), 0xfc00u);
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bffu);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00u);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0u);
  EXPECT_EQ(f32_to_f16(from_bits(0x7f800001u)), 0x7e00u);  // a NaN whose payload f16 cannot hold
  EXPECT_EQ(f32_to_f16(from_bits(0xffc00000u)), 0xfe00u);
}

#if defined(__x86_64__)
/// The first f32 in [begin, end), by `step`, that the hardware rounds otherwise; end if there is none.
__attribute__((target("avx,f16c"))) std::uint64_t first_difference(std::uint64_t begin, std::uint64_t end,
                                                                   std::uint64_t step) {
  for (std::uint64_t u = begin; u < end; u += 8 * step) {
    float in[8];
    for (std::uint64_t j = 0; j < 8; ++j) in[j] = from_bits(static_cast<std::uint32_t>(u + j * step));
    std::uint16_t hardware[8];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(hardware), _mm256_cvtps_ph(_mm256_loadu_ps(in), 0));
    for (std::uint64_t j = 0; j < 8; ++j) {
      if (u + j * step < end && formats::float_to_half(in[j]) != hardware[j]) return u + j * step;
    }
  }
  return end;
}

TEST(Half, FloatsRoundAsF16cDoes) {
  if (!host_cpu().features.has(CpuFeature::f16c)) GTEST_SKIP() << "this CPU has no f16c";
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t step = 13;  // 1, every float, passes too, in 8 s of CPU; ties are tested above
#else
  constexpr std::uint64_t step = 509;
#endif
  constexpr std::uint64_t half = std::uint64_t{1} << 31;
  std::atomic<std::uint64_t> negative{0};
  std::thread other([&] { negative = first_difference(half, 2 * half, step); });
  const std::uint64_t positive = first_difference(0, half, step);
  other.join();
  EXPECT_EQ(positive, half) << std::hex << positive;
  EXPECT_EQ(negative, 2 * half) << std::hex << negative;
}
#endif

TEST(Brain, EveryPatternIsTheUpperHalf) {
  for (std::uint32_t h = 0; h <= 0xffffu; ++h) {
    // The float may pass through a register, never through arithmetic: NaN payloads stay.
    ASSERT_EQ(bits(bf16_to_f32(static_cast<std::uint16_t>(h))), h << 16);
    const bool nan = (h & 0x7fffu) > 0x7f80u;
    ASSERT_EQ(f32_to_bf16(from_bits(h << 16)), nan ? h | 0x40u : h);
  }
}

TEST(Brain, RoundsToNearestEven) {
  std::mt19937 rng(2);
  for (int i = 0; i < 1000000; ++i) {
    std::uint32_t u = static_cast<std::uint32_t>(rng());
    if (i % 4 == 0) u = (u & 0xffff0000u) | 0x8000u;  // a tie
    if ((u & 0x7f800000u) == 0x7f800000u) continue;
    const std::uint32_t low = u >> 16;
    const std::uint32_t rest = u & 0xffffu;
    const bool up = rest > 0x8000u || (rest == 0x8000u && low % 2 == 1);
    ASSERT_EQ(f32_to_bf16(from_bits(u)), low + (up ? 1u : 0u)) << std::hex << u;
  }
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80u);
  EXPECT_EQ(f32_to_bf16(from_bits(0x7f800001u)), 0x7fc0u);  // NaN, never Inf
}

}  // namespace
}  // namespace nibblas
