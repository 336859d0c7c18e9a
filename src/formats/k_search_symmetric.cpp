// SPDX-License-Identifier: Apache-2.0
#include "formats/k_common.hpp"
#include "formats/k_search.hpp"

// q6_k: w = d * sc * q, q in -32..31. The same plan as for q4_k and q5_k, with one scale, of either sign, a sub-block.

namespace nibblas::formats {
namespace {

constexpr std::size_t kSub = 16;
constexpr std::size_t kSubs = 16;

// Measured on Gaussian and heavy-tailed rows: RMSE 0.83 of ggml's at 30 MB/s; doubling either gains under 1 %.
constexpr int kRounds = 3;       // codes, then least squares, from each start
constexpr int kRefinements = 2;  // least squares for d

/// What one pass over a sub-block finds for w = s * q with each q the nearest code.
struct Pass {
  float error;  ///< sum of (x - w)^2
  float qq;     ///< sum of q^2
  float qx;     ///< sum of q * x
};

float signed_code(float v) noexcept { return nearest_code(v + 32.0f, 63.0f) - 32.0f; }

Pass quantise(const float* x, float s) noexcept {
  const float inverse = reciprocal(s);
  float error[kSub], qq[kSub], qx[kSub];
  for (std::size_t i = 0; i < kSub; ++i) {
    const float q = signed_code(x[i] * inverse);
    const float e = x[i] - s * q;
    error[i] = e * e;
    qq[i] = q * q;
    qx[i] = q * x[i];
  }
  return {fold<kSub>(error), fold<kSub>(qq), fold<kSub>(qx)};
}

/// A sub-block's own best scale.
float fit_symmetric(const float* x) noexcept {
  float extreme = 0;
  for (std::size_t i = 0; i < kSub; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  if (!(std::fabs(extreme) > 0x1p-40f)) return 0;
  float best = 0;
  float best_error = kInfinity;
  // The code of the extreme value; beyond the range it is clamped, which a smaller step may be worth. -32 is first and
  // wins ties: for a constant it gives the d that f16 holds exactly most often.
  for (const float code : {-32.0f, -31.0f, -33.0f, 31.0f, 32.0f}) {
    float s = extreme / code;
    for (int round = 0; round < kRounds; ++round) {
      const Pass p = quantise(x, s);
      if (p.error < best_error) {
        best_error = p.error;
        best = s;
      }
      if (!(p.qq > 0)) break;
      s = p.qx / p.qq;
      if (!(std::fabs(s) > 0x1p-60f)) break;
    }
  }
  return best;
}

/// A whole block with everything but the codes decided.
struct SymmetricChoice {
  double error = static_cast<double>(kInfinity);
  std::uint16_t d = 0;
  std::int8_t sc[kSubs] = {};
  double aa = 0, ax = 0;  ///< least squares for d with these scales and codes: sums of (sc * q)^2 and sc * q * x
};

class SymmetricSearch {
 public:
  explicit SymmetricSearch(const Normalised& block) noexcept : block_(block) {
    for (std::size_t s = 0; s < kSubs; ++s) fits_[s] = fit_symmetric(block.x + kSub * s);
  }

  SymmetricChoice run() noexcept {
    float top = 0;
    for (const float f : fits_) {
      if (std::fabs(f) > std::fabs(top)) top = f;
    }
    // The sc of the largest scale: as many roundings of d to f16.
    for (const double sc : {-128.0, -127.0, -126.0, -125.0, 127.0, 126.0}) {
      try_scale(block_.to_half(static_cast<double>(top) / sc));
    }
    const std::uint16_t d0 = block_.to_half(static_cast<double>(top) / -128.0);
    if (subnormal(d0)) try_scale(static_cast<std::uint16_t>(d0 + 1));
    for (int i = 0; i < kRefinements && best_.aa > 0; ++i) {
      const double before = best_.error;
      try_scale(block_.to_half(best_.ax / best_.aa));
      if (!(best_.error < before)) break;
    }
    return best_;
  }

 private:
  void try_scale(std::uint16_t half) noexcept {
    if (half == last_) return;
    last_ = half;
    SymmetricChoice c;
    c.d = half;
    c.error = 0;
    const float d = block_.from_half(half);
    const float inverse_d = reciprocal(d);
    for (std::size_t sub = 0; sub < kSubs; ++sub) {
      const float* x = block_.x + kSub * sub;
      const float exact = std::clamp(fits_[sub] * inverse_d, -128.0f, 127.0f);
      const int sc0 = static_cast<int>(exact + 128.5f) - 128;
      Pass best{kInfinity, 0, 0};
      int best_sc = 0;
      for (const int sc : {sc0, sc0 - 1, sc0 + 1}) {
        if (sc < -128 || sc > 127) continue;
        const Pass p = quantise(x, d * static_cast<float>(sc));
        if (p.error < best.error) {
          best = p;
          best_sc = sc;
        }
      }
      c.sc[sub] = static_cast<std::int8_t>(best_sc);
      c.error += static_cast<double>(best.error);
      c.aa += static_cast<double>(best_sc * best_sc) * static_cast<double>(best.qq);
      c.ax += static_cast<double>(best_sc) * static_cast<double>(best.qx);
    }
    if (c.error < best_.error) best_ = c;
  }

  const Normalised& block_;
  float fits_[kSubs];
  SymmetricChoice best_;
  std::uint16_t last_ = 0x7c00;  // the d tried last: roundings often coincide
};

}  // namespace

void search_symmetric(const float* x, SymmetricBlock& out) noexcept {
  out = {};
  const Normalised block(x);
  if (block.factor == 0) return;
  const SymmetricChoice c = SymmetricSearch(block).run();
  for (const std::int8_t sc : c.sc) {
    if (sc != 0) out.d = c.d;
  }
  const float d = block.from_half(c.d);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::int8_t sc = c.sc[i / kSub];
    out.sc[i / kSub] = sc;
    out.codes[i] = static_cast<std::int8_t>(signed_code(block.x[i] * reciprocal(d * static_cast<float>(sc))));
  }
}

}  // namespace nibblas::formats
