// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "parity/aligned_bytes.hpp"
#include "parity/product.hpp"

// Prepared activations, which all providers and formats share: the definition of docs/numerics.md and panel.hpp once
// more, in plain loops, and every provider byte for byte.

namespace nibblas::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
void put(Bytes& out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

struct Scale {
  float d = 0;
  float id = 0;  ///< 0: all codes are 0
};

Scale scale_of(const float* x, std::size_t n) {
  float amax = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return {kNaN, 0};
    amax = std::fmax(amax, std::fabs(x[i]));
  }
  const float d = amax / 127;
  const float id = 1 / d;
  return std::isfinite(id) ? Scale{d, id} : Scale{};
}

Bytes expected_int8(ConstMatrixView x, bool per_token) {
  const std::size_t T = x.rows;
  const std::size_t blocks = (x.cols + 31) / 32;
  Bytes out(blocks * T * (32 + sizeof(Int8Token)));
  for (std::size_t t = 0; t < T; ++t) {
    const float* row = x.data + t * x.stride;
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t n = std::min<std::size_t>(32, x.cols - 32 * b);
      const Scale scale = per_token ? scale_of(row, x.cols) : scale_of(row + 32 * b, n);
      const std::size_t at = b * T * (32 + sizeof(Int8Token));
      std::int32_t low = 0, sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const float code = scale.id == 0 ? 0 : std::nearbyint(row[32 * b + i] * scale.id);
        put(out, at + t * 32 + i, static_cast<std::int8_t>(code));
        sum += static_cast<std::int32_t>(code);
        if (i < 16) low += static_cast<std::int32_t>(code);
      }
      put(out, at + T * 32 + t * sizeof(Int8Token),
          Int8Token{scale.d, scale.d * static_cast<float>(sum), -8 * sum, -8 * low});
    }
  }
  return out;
}

Bytes expected_f32(ConstMatrixView x) {
  const std::size_t T = x.rows;
  Bytes out((x.cols + (x.cols + 31) / 32) * T * sizeof(float));
  for (std::size_t t = 0; t < T; ++t) {
    float sum = 0;
    for (std::size_t k = 0; k < x.cols; ++k) {
      const float v = x.data[t * x.stride + k];
      put(out, (k * T + t) * sizeof v, v);
      sum = k % 32 == 0 ? 0.0f + v : sum + v;
      put(out, ((x.cols + k / 32) * T + t) * sizeof sum, sum);
    }
  }
  return out;
}

Bytes expected(ConstMatrixView x, Compute compute) {
  return compute == Compute::f32 ? expected_f32(x) : expected_int8(x, compute == Compute::int8_token);
}

Bytes prepared(const Kernel& kernel, ConstMatrixView x) {
  AlignedBytes out(activation_tile_bytes(kernel.key.compute, x.rows, x.cols));
  kernel.tiled.prepare({x.data, x.stride, x.rows, x.cols, out.data()});
  EXPECT_TRUE(out.rest_intact()) << kernel.name;
  return out.bytes();
}

class PreparedRows : public testing::TestWithParam<Candidate> {
 protected:
  void check(ConstMatrixView x) {
    const Kernel& kernel = *GetParam().kernel;
    ASSERT_EQ(prepared(kernel, x), expected(x, kernel.key.compute));
  }
};

TEST_P(PreparedRows, EveryKindOfInput) {
  const DType t = GetParam().kernel->key.weights;
  const std::vector<std::size_t> lengths = info(t).block_elems == 1
                                               ? std::vector<std::size_t>{1, 15, 16, 17, 31, 32, 33, 63, 100}
                                               : std::vector<std::size_t>{info(t).block_elems, 512};
  for (std::size_t fill = 0; fill < kInputFillCount; ++fill) {
    for (const std::size_t K : lengths) {
      for (const std::size_t tokens : {std::size_t{1}, std::size_t{3}, tile_tokens(GetParam().kernel->key.compute)}) {
        const Matrix x = copy_of(make_input(tokens, K, static_cast<InputFill>(fill), K).view(), 5);
        ASSERT_NO_FATAL_FAILURE(check(x.view())) << to_string(static_cast<InputFill>(fill)) << " K " << K;
      }
    }
  }
}

TEST_P(PreparedRows, NumbersThatAreNone) {
  const std::size_t K = std::max<std::size_t>(info(GetParam().kernel->key.weights).block_elems, 96);
  for (const float bad : {kNaN, -kNaN, kInf, -kInf}) {
    for (const std::size_t k : {std::size_t{0}, std::size_t{17}, K / 2, K - 1}) {
      Matrix x = make_input(5, K, InputFill::gaussian, 1);
      x.at(2, k) = bad;
      if (GetParam().kernel->key.compute == Compute::f32 && std::isnan(bad)) {
        // Which NaN a sum with a NaN is, nobody promises.
        const Bytes got = prepared(*GetParam().kernel, x.view());
        EXPECT_EQ(std::memcmp(got.data(), expected(x.view(), Compute::f32).data(), 5 * K * sizeof(float)), 0);
      } else {
        ASSERT_NO_FATAL_FAILURE(check(x.view())) << bad << " at " << k;
      }
    }
  }
}

TEST_P(PreparedRows, AmplitudesWithoutAFiniteReciprocal) {
  const std::size_t K = std::max<std::size_t>(info(GetParam().kernel->key.weights).block_elems, 64);
  for (float amax = 1e-45f; amax < 1e-35f; amax *= 1.5f) {
    Matrix x = make_input(2, K, InputFill::zeros, 1);
    x.at(1, K / 2) = -amax;
    x.at(1, K / 2 + 1) = amax / 3;
    ASSERT_NO_FATAL_FAILURE(check(x.view())) << amax;
  }
  for (const float amax : {1e38f, 3e38f, std::numeric_limits<float>::max()}) {
    Matrix x = make_input(2, K, InputFill::zeros, 1);
    x.at(1, 3) = amax;
    x.at(1, 4) = -amax / 2;
    ASSERT_NO_FATAL_FAILURE(check(x.view())) << amax;
  }
}

/// x = (n + 1/2) dx, and its neighbours, for every n: the rounding of each code.
TEST_P(PreparedRows, EveryHalfWayPoint) {
  const std::size_t K = std::max<std::size_t>(info(GetParam().kernel->key.weights).block_elems, 64);
  for (const float amax : {127.0f, 1.0f, 0.3f}) {
    for (int n = -127; n < 127; ++n) {
      Matrix x = make_input(1, K, InputFill::zeros, 1);
      const float half = (static_cast<float>(n) + 0.5f) * (amax / 127);
      x.at(0, 0) = amax;
      x.at(0, 1) = half;
      x.at(0, 17) = std::nextafter(half, kInf);
      x.at(0, K - 1) = std::nextafter(half, -kInf);
      ASSERT_NO_FATAL_FAILURE(check(x.view())) << n << " of " << amax;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PreparedRows, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
