// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fp_environment.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "formats/golden_files.hpp"
#include "nibblas/formats.hpp"

namespace nibblas {
namespace {

// The control word of the caller: rounding modes by fenv everywhere, flushing by the register where we know it.
#if defined(__x86_64__)
std::uint64_t control() { return _mm_getcsr(); }
void set_control(std::uint64_t c) { _mm_setcsr(static_cast<unsigned>(c)); }
constexpr std::uint64_t kFlush = 0x8040;  // FTZ, DAZ
constexpr std::uint64_t kControlBits = 0xffc0;
#elif defined(__aarch64__)
std::uint64_t control() {
  std::uint64_t c;
  asm volatile("mrs %0, fpcr" : "=r"(c));
  return c;
}
void set_control(std::uint64_t c) { asm volatile("msr fpcr, %0" : : "r"(c)); }
constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;
constexpr std::uint64_t kControlBits = ~std::uint64_t{0};
#else
std::uint64_t control() { return static_cast<std::uint64_t>(std::fegetround()); }
void set_control(std::uint64_t c) { std::fesetround(static_cast<int>(c)); }
constexpr std::uint64_t kFlush = 0;
constexpr std::uint64_t kControlBits = ~std::uint64_t{0};
#endif

class ControlWord {
 public:
  ControlWord(int rounding, bool flush) : saved_(control()) {
    std::fesetround(rounding);
    if (flush) set_control(control() | kFlush);
    std::feclearexcept(FE_ALL_EXCEPT);
  }
  ~ControlWord() { set_control(saved_); }
  ControlWord(const ControlWord&) = delete;
  ControlWord& operator=(const ControlWord&) = delete;

 private:
  std::uint64_t saved_;
};

constexpr int kRoundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/// Golden rows with subnormals, tiny scales and ties, and a bitnet tensor whose scale is subnormal.
TEST(Environment, SameBytesAndValuesForEveryCaller) {
  const std::vector<float> all = test::golden_input();
  const std::size_t K = test::kGoldenK;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    for (const std::size_t first :
         {std::size_t{16}, test::golden_row("tiny_1e-6"), test::golden_row("fp32_denormal")}) {
      const ConstMatrixView x{&all[first * K], 1, K};
      const std::size_t bytes = *tensor_bytes(t, 1, K);
      std::vector<std::byte> want(bytes);
      std::vector<float> want_values(K);
      ASSERT_TRUE(quantize(t, x, want).ok());
      ASSERT_TRUE(dequantize({t, 1, K, want.data(), bytes, 0}, 0, {want_values.data(), 1, K}).ok());
      for (const int rounding : kRoundings) {
        for (const bool flush : {false, true}) {
          std::vector<std::byte> got(bytes);
          std::vector<float> values(K);
          std::uint64_t before = 0, after = 0;
          int flags = 0;
          {
            const ControlWord caller(rounding, flush);
            before = control() & kControlBits;
            const bool quantized = quantize(t, x, got).ok();
            const bool decoded = dequantize({t, 1, K, want.data(), bytes, 0}, 0, {values.data(), 1, K}).ok();
            const bool valid = validate({t, 1, K, want.data(), bytes, 0}).ok();
            after = control() & kControlBits;
            flags = std::fetestexcept(FE_ALL_EXCEPT);
            EXPECT_TRUE(quantized && decoded && valid);
          }
          EXPECT_EQ(got, want) << to_string(t) << " row " << first << " rounding " << rounding << " flush " << flush;
          EXPECT_EQ(std::memcmp(values.data(), want_values.data(), K * sizeof(float)), 0)
              << to_string(t) << " row " << first << " rounding " << rounding << " flush " << flush;
          EXPECT_EQ(before, after);
          EXPECT_EQ(flags, 0) << "status flags leak";
        }
      }
    }
  }
}

TEST(Environment, SetsAndRestores) {
  volatile float one = 1.0f, three = 3.0f, subnormal = 1e-40f;
  const float nearest = one / three;
  for (const int rounding : kRoundings) {
    const ControlWord caller(rounding, true);
    const std::uint64_t before = control();
    float inside = 0, kept = 0;
    {
      const FpEnvironment environment;
      inside = one / three;
      kept = subnormal * one;
    }
    EXPECT_EQ(control(), before);
    EXPECT_EQ(std::memcmp(&inside, &nearest, sizeof inside), 0);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &kept, sizeof bits);
    EXPECT_NE(bits, 0u) << "flushed";
  }
}

/// A flag that the caller had raised stays raised.
TEST(Environment, KeepsTheCallersFlags) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO);
  {
    const FpEnvironment environment;
    volatile float zero = 0.0f;
    zero = zero / zero;
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
  std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace
}  // namespace nibblas
