// SPDX-License-Identifier: Apache-2.0
#include "isa/operations.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/bits.hpp"

extern "C" {
extern const nibblas::test::IsaOperations nibblas_test_avx2;
extern const nibblas::test::IsaOperations nibblas_test_avx512;
extern const nibblas::test::IsaOperations nibblas_test_xsimd_avx2;
extern const nibblas::test::IsaOperations nibblas_test_xsimd_avx512;
extern const nibblas::test::IsaOperations nibblas_test_neon;
extern const nibblas::test::IsaOperations nibblas_test_neon_dotprod;
extern const nibblas::test::IsaOperations nibblas_test_neon_i8mm;
extern const nibblas::test::IsaOperations nibblas_test_xsimd_neon64;
}

namespace nibblas::test {
namespace {

constexpr std::size_t kMaxLanes = 16;

std::vector<const IsaOperations*> built() {
  return {
#if defined(NIBBLAS_HAVE_AVX2)
    &nibblas_test_avx2,
#endif
#if defined(NIBBLAS_HAVE_AVX512)
        &nibblas_test_avx512,
#endif
#if defined(NIBBLAS_HAVE_XSIMD_AVX2)
        &nibblas_test_xsimd_avx2,
#endif
#if defined(NIBBLAS_HAVE_XSIMD_AVX512)
        &nibblas_test_xsimd_avx512,
#endif
#if defined(NIBBLAS_HAVE_NEON)
        &nibblas_test_neon,
#endif
#if defined(NIBBLAS_HAVE_NEON_DOTPROD)
        &nibblas_test_neon_dotprod,
#endif
#if defined(NIBBLAS_HAVE_NEON_I8MM)
        &nibblas_test_neon_i8mm,
#endif
#if defined(NIBBLAS_HAVE_XSIMD_NEON64)
        &nibblas_test_xsimd_neon64,
#endif
  };
}

class Operations : public testing::TestWithParam<const IsaOperations*> {
 protected:
  void SetUp() override {
    const CpuFeatures missing = host_cpu().features.missing(isa.needs);
    if (missing.bits != 0) GTEST_SKIP() << "cpu lacks " << to_string(missing);
  }

  const IsaOperations& isa = *GetParam();
  std::mt19937 random{7};
};

INSTANTIATE_TEST_SUITE_P(Built, Operations, testing::ValuesIn(built()),
                         [](const auto& p) { return std::string(p.param->name); });

/// Operands whose product does not fit an f32: with two roundings many sums come out differently.
struct Operands {
  std::array<float, kMaxLanes> a, b, c;
};

Operands cancelling(std::mt19937& random) {
  std::uniform_real_distribution<float> value(1, 2);
  Operands o;
  for (std::size_t i = 0; i < kMaxLanes; ++i) {
    o.a[i] = i % 3 == 0 ? -value(random) : value(random);
    o.b[i] = value(random);
    o.c[i] = i % 2 == 0 ? -(o.a[i] * o.b[i]) : std::ldexp(value(random), static_cast<int>(i) - 28);
  }
  return o;
}

TEST_P(Operations, FmaRoundsOnce) {
  int told_apart = 0;
  for (int round = 0; round < 1000; ++round) {
    const Operands o = cancelling(random);
    float sum[kMaxLanes], difference[kMaxLanes];
    isa.fma(o.a.data(), o.b.data(), o.c.data(), sum);
    isa.fnma(o.a.data(), o.b.data(), o.c.data(), difference);
    for (std::size_t i = 0; i < isa.lanes; ++i) {
      ASSERT_TRUE(same_bits(sum[i], std::fma(o.a[i], o.b[i], o.c[i]))) << o.a[i] << " * " << o.b[i] << " + " << o.c[i];
      ASSERT_TRUE(same_bits(difference[i], std::fma(-o.a[i], o.b[i], o.c[i])))
          << o.c[i] << " - " << o.a[i] << " * " << o.b[i];
      const volatile float product = o.a[i] * o.b[i];
      told_apart += !same_bits(sum[i], product + o.c[i]);
    }
  }
  EXPECT_GT(told_apart, 1000);
}

TEST_P(Operations, FmaOfSpecialValues) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float tiny = std::numeric_limits<float>::denorm_min();
  constexpr float big = std::numeric_limits<float>::max();
  const float values[] = {0.0f, -0.0f, 1.0f, -1.5f, tiny, -tiny, 0x1p-100f, big, -big, inf, -inf, std::nanf("")};
  for (const float x : values) {
    for (const float y : values) {
      for (const float z : values) {
        float a[kMaxLanes], b[kMaxLanes], c[kMaxLanes], sum[kMaxLanes], difference[kMaxLanes];
        std::fill_n(a, kMaxLanes, x);
        std::fill_n(b, kMaxLanes, y);
        std::fill_n(c, kMaxLanes, z);
        isa.fma(a, b, c, sum);
        isa.fnma(a, b, c, difference);
        ASSERT_TRUE(same_bits(sum[0], std::fma(x, y, z))) << x << " * " << y << " + " << z;
        ASSERT_TRUE(same_bits(difference[isa.lanes - 1], std::fma(-x, y, z))) << z << " - " << x << " * " << y;
      }
    }
  }
}

/// By definition, in double, where every f16 is exact.
float half_value(unsigned h) {
  const unsigned exponent = (h >> 10) & 31;
  const double mantissa = h & 1023;
  double value =
      std::ldexp(exponent == 0 ? mantissa : 1024 + mantissa, exponent == 0 ? -24 : static_cast<int>(exponent) - 25);
  if (exponent == 31) value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return static_cast<float>((h & 0x8000) != 0 ? -value : value);
}

TEST_P(Operations, CodesBecomeTheirFloats) {
  for (int round = 0; round < 200; ++round) {
    std::byte w[kMaxLanes * 4];
    for (std::byte& b : w) b = static_cast<std::byte>(random());
    for (int kind = 0; kind < 4; ++kind) {
      std::byte codes[kMaxLanes * 4];
      std::copy_n(w, kMaxLanes * 4, codes);
      if (kind == 2) {
        for (std::byte& b : codes) b &= std::byte{63};
      }
      float out[4 * kMaxLanes];
      isa.floats[kind](codes, out);
      for (std::size_t lane = 0; lane < isa.lanes; ++lane) {
        for (std::size_t i = 0; i < 4; ++i) {
          const int code = static_cast<int>(codes[lane * 4 + i]);
          const int expected[] = {code % 16 - 8, code / 16, code - 32, code < 128 ? code : code - 256};
          ASSERT_EQ(out[i * isa.lanes + lane], static_cast<float>(expected[kind]))
              << "code " << code << " kind " << kind;
        }
      }
    }
  }
}

TEST_P(Operations, EveryF16AndBf16) {
  for (unsigned first = 0; first < 0x10000; first += static_cast<unsigned>(isa.lanes)) {
    std::uint16_t h[kMaxLanes];
    for (unsigned i = 0; i < isa.lanes; ++i) h[i] = static_cast<std::uint16_t>(first + i);
    float f16[kMaxLanes], bf16[kMaxLanes];
    isa.load_f16(reinterpret_cast<const std::byte*>(h), f16);
    isa.load_bf16(reinterpret_cast<const std::byte*>(h), bf16);
    for (unsigned i = 0; i < isa.lanes; ++i) {
      ASSERT_TRUE(same_bits(f16[i], half_value(h[i]))) << std::hex << h[i] << ": " << f16[i];
      ASSERT_TRUE(same_bits(bf16[i], std::bit_cast<float>(std::uint32_t{h[i]} << 16))) << std::hex << h[i];
    }
  }
}

TEST_P(Operations, EveryByte) {
  for (unsigned first = 0; first < 256; first += kPanelRows) {
    std::byte rows[kPanelRows];
    for (unsigned r = 0; r < kPanelRows; ++r) rows[r] = static_cast<std::byte>(first + r);
    for (std::size_t column = 0; column < kPanelRows / isa.lanes; ++column) {
      float u8[kMaxLanes], s8[kMaxLanes];
      isa.load_u8(rows, column, u8);
      isa.load_s8(rows, column, s8);
      for (std::size_t i = 0; i < isa.lanes; ++i) {
        const std::size_t n = first + column * isa.lanes + i;
        EXPECT_EQ(u8[i], static_cast<float>(n));
        EXPECT_EQ(s8[i], static_cast<float>(static_cast<std::int8_t>(n)));
      }
    }
  }
}

TEST_P(Operations, ShiftsByARuntimeCount) {
  for (int n = 0; n < 8; n += 2) {
    std::byte words[kMaxLanes * 4], out[kMaxLanes * 4];
    for (std::byte& b : words) b = static_cast<std::byte>(random());
    isa.shift_right16_by(words, n, out);
    for (std::size_t i = 0; i < isa.lanes * 4; i += 2) {
      std::uint16_t in, shifted;
      std::memcpy(&in, words + i, 2);
      std::memcpy(&shifted, out + i, 2);
      EXPECT_EQ(shifted, in >> n);
    }
  }
}

/// Codes and activations at their limits for the whole sum, and at random.
TEST_P(Operations, DotsAreExact) {
  constexpr int largest[] = {15, 31, 63, -128};
  for (int kind = 0; kind < 4; ++kind) {
    for (int round = 0; round < 200; ++round) {
      std::byte w[8 * kMaxLanes * 4], x[32];
      const auto pick = [&](int low, int high) {
        if (round < 8) return ((round >> (random() % 2)) & 1) != 0 ? low : high;
        return std::uniform_int_distribution<int>(low, high)(random);
      };
      const int low = largest[kind] < 0 ? -128 : 0;
      const int high = largest[kind] < 0 ? 127 : largest[kind];
      for (std::byte& code : w) code = static_cast<std::byte>(round == 0 ? high : round == 1 ? low : pick(low, high));
      for (std::byte& code : x) code = static_cast<std::byte>(round < 2 ? 127 : round < 4 ? -127 : pick(-127, 127));
      const auto code = [](std::byte b, bool is_signed) {
        return is_signed ? static_cast<std::int8_t>(b) : static_cast<std::int32_t>(b);
      };
      std::int32_t x_sum = 0;
      for (const std::byte b : x) x_sum += code(b, true);
      const std::int32_t bias = 1000 * round;
      float out[kMaxLanes];
      isa.dots[kind](w, x, largest[kind] < 0 ? bias - isa.signed_offset * x_sum : bias, out);
      for (std::size_t lane = 0; lane < isa.lanes; ++lane) {
        std::int32_t want = bias;
        for (std::size_t k = 0; k < 32; ++k) {
          want += code(w[(k / 4 * isa.lanes + lane) * 4 + k % 4], largest[kind] < 0) * code(x[k], true);
        }
        ASSERT_EQ(out[lane], static_cast<float>(want)) << "codes up to " << largest[kind] << ", round " << round;
      }
    }
  }
}

TEST_P(Operations, DotsOfTwoTokensAreExact) {
  if (isa.pair_dots == nullptr) GTEST_SKIP() << "one token at a time";
  for (int round = 0; round < 200; ++round) {
    const auto fill = [&](std::span<std::byte> codes, int low, int high) {  // the first rounds at the limits
      std::uniform_int_distribution<int> code(round == 0 ? high : low, round == 1 ? low : high);
      for (std::byte& b : codes) b = static_cast<std::byte>(code(random));
    };
    std::byte w[8 * kMaxLanes * 4], x[2][32];
    fill(w, -128, 127);
    fill(x[0], -127, 127);
    fill(x[1], -127, 127);
    float out[2][kMaxLanes];
    isa.pair_dots(w, {x[0], x[1]}, {out[0], out[1]});
    for (std::size_t lane = 0; lane < isa.lanes; ++lane) {
      std::int32_t want[2] = {};
      for (std::size_t k = 0; k < 32; ++k) {
        const auto code = static_cast<std::int8_t>(w[(k / 4 * isa.lanes + lane) * 4 + k % 4]);
        for (std::size_t t = 0; t < 2; ++t) want[t] += code * static_cast<std::int8_t>(x[t][k]);
      }
      for (std::size_t t = 0; t < 2; ++t) ASSERT_EQ(out[t][lane], static_cast<float>(want[t])) << t << ", " << lane;
    }
  }
}

TEST_P(Operations, LargestMagnitude) {
  std::normal_distribution<float> value;
  for (std::size_t at = 0; at < 32; ++at) {
    float x[32];
    for (float& v : x) v = value(random);
    for (const float peak : {-50.0f, 50.0f, -0.0f}) {
      x[at] = peak;
      float want = 0;
      for (const float v : x) want = std::fmax(want, std::fabs(v));
      float amax = 0;
      EXPECT_TRUE(isa.amax32(x, &amax));
      EXPECT_EQ(amax, want);
      amax = 100;
      EXPECT_TRUE(isa.amax32(x, &amax));
      EXPECT_EQ(amax, 100) << "it is only ever raised";
    }
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::nanf(""), -std::nanf("")}) {
      x[at] = bad;
      float amax = 0;
      EXPECT_FALSE(isa.amax32(x, &amax)) << at;
    }
  }
}

TEST_P(Operations, CodesRoundHalfToEven) {
  for (int round = 0; round < 200; ++round) {
    float x[32];
    for (float& v : x) v = static_cast<float>(std::uniform_int_distribution<int>(-254, 254)(random)) * 0.25f;
    const float id = round % 2 == 0 ? 2.0f : 1.9f;
    std::int8_t codes[32];
    const Sums sums = isa.codes32(x, id, codes);
    Sums want{0, 0};
    for (std::size_t i = 0; i < 32; ++i) {
      const auto code = static_cast<std::int32_t>(std::nearbyint(x[i] * id));
      ASSERT_EQ(codes[i], code) << x[i] << " * " << id;
      (i < 16 ? want.low : want.high) += code;
    }
    EXPECT_EQ(sums.low, want.low);
    EXPECT_EQ(sums.high, want.high);
  }
}

TEST_P(Operations, Transpositions) {
  constexpr std::size_t stride = 20;
  std::byte rows[16 * stride], words[4 * 64], halves[2 * 32], bytes[4 * 16];
  for (std::byte& b : rows) b = static_cast<std::byte>(random());
  isa.words4(rows, stride, words);
  isa.halves(words, halves);
  isa.bytes(words, bytes);
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(std::memcmp(words + i * 64 + r * 4, rows + r * stride + 4 * i, 4), 0) << "row " << r << ", word " << i;
      EXPECT_EQ(bytes[i * 16 + r], rows[r * stride + i]) << "row " << r << ", byte " << i;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(std::memcmp(halves + i * 32 + r * 2, rows + r * stride + 2 * i, 2), 0) << "row " << r << ", half " << i;
    }
  }
}

}  // namespace
}  // namespace nibblas::test
