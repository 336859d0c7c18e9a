// SPDX-License-Identifier: Apache-2.0
#include "parity/inputs.hpp"

#include <cmath>

#include "support/fill.hpp"

namespace nibblas::test {
namespace {

float random_sign(Random& random) noexcept { return random.below(2) == 0 ? 1.0f : -1.0f; }

/// Element k of a row; `random` is the row's.
float element(InputFill fill, std::size_t k, Random& random) noexcept {
  const float sign = random_sign(random);
  const auto fraction = static_cast<float>(random.below(1 << 20)) * 0x1p-20f;
  switch (fill) {
    case InputFill::gaussian:
      return random.gaussian() * (k % kOutlierStep == 0 ? kOutlierFactor : 1.0f);
    case InputFill::extremes:
      return sign * 2.75f;
    case InputFill::ties:  // amax = 127 makes dx = 1
      return k % 32 == 0 ? 127.0f : sign * (static_cast<float>(random.below(126)) + 0.5f);
    case InputFill::constant:
      return 50.0f;
    case InputFill::large_sum:
      return 4000.0f;
    case InputFill::zeros:
      return sign * 0.0f;
    case InputFill::subnormal:
      return sign * fraction * 2e-38f;
    case InputFill::flushed:  // 1 / (amax / 127) stops being finite at about 3.7e-37
      return sign * fraction * 3.7e-37f * static_cast<float>(1 + k / 32 % 5) * 0.5f;
    case InputFill::wide:
      return sign * std::ldexp(1 + fraction, static_cast<int>(random.below(133)) - 66);
    default:
      return sign * fraction * 3.3e38f;
  }
}

}  // namespace

const char* to_string(InputFill fill) noexcept {
  constexpr const char* names[kInputFillCount] = {"gaussian",  "extremes", "ties", "constant", "large_sum", "zeros",
                                                  "subnormal", "flushed",  "wide", "huge",     "hostile"};
  return names[static_cast<std::size_t>(fill)];
}

Matrix make_input(std::size_t M, std::size_t K, InputFill fill, std::uint64_t seed) {
  Matrix x(M, K);
  for (std::size_t m = 0; m < M; ++m) {
    Random random(seed * 1000003 + m);
    const InputFill kind = fill == InputFill::hostile ? static_cast<InputFill>(m % 9) : fill;
    for (std::size_t k = 0; k < K; ++k) x.at(m, k) = element(kind, k, random);
  }
  return x;
}

}  // namespace nibblas::test
