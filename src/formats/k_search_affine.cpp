// SPDX-License-Identifier: Apache-2.0
#include "formats/k_common.hpp"
#include "formats/k_search.hpp"

// q4_k and q5_k: w = d * sc * q - dmin * m. Each sub-block first finds its own scale and minimum; then a few values of
// d and dmin are tried, every sub-block choosing its sc and m against the value that f16 really stores; then d and dmin
// follow by least squares.

namespace nibblas::formats {
namespace {

constexpr std::size_t kSub = 32;

// Measured on Gaussian and heavy-tailed rows: RMSE 0.83 of ggml's at 35 MB/s; doubling any of these gains under 1 %.
constexpr int kStarts = 6;       // initial scales, from (max_code - 1) to (max_code + 1.5) steps in the range
constexpr int kRounds = 3;       // codes, then least squares, from each
constexpr int kTops = 3;         // the largest sc (and m) is 63, 62 or 61: as many roundings of d (and dmin) to f16
constexpr int kRefinements = 2;  // least squares for d and dmin

/// What one pass over a sub-block finds for w = s * q - m with each q the nearest code in [0, max_code].
struct Pass {
  float error;  ///< sum of (x - w)^2
  float q;      ///< sum of q
  float qq;     ///< sum of q^2
  float qx;     ///< sum of q * x
};

Pass quantise(const float* x, float s, float m, float max_code) noexcept {
  const float inverse = reciprocal(s);
  float error[kSub], q[kSub], qq[kSub], qx[kSub];
  for (std::size_t i = 0; i < kSub; ++i) {
    q[i] = nearest_code((x[i] + m) * inverse, max_code);
    const float e = x[i] - (s * q[i] - m);
    error[i] = e * e;
    qq[i] = q[i] * q[i];
    qx[i] = q[i] * x[i];
  }
  return {fold<kSub>(error), fold<kSub>(q), fold<kSub>(qq), fold<kSub>(qx)};
}

/// The error alone.
float quantise_error(const float* x, float s, float m, float max_code) noexcept {
  const float inverse = reciprocal(s);
  float error[kSub];
  for (std::size_t i = 0; i < kSub; ++i) {
    const float e = x[i] - (s * nearest_code((x[i] + m) * inverse, max_code) - m);
    error[i] = e * e;
  }
  return fold<kSub>(error);
}

/// A sub-block's own best scale and minimum, before they are rounded to multiples of d and dmin.
struct AffineFit {
  float s = 0;
  float m = 0;
  float x_sum = 0;
};

AffineFit fit_affine(const float* x, float max_code) noexcept {
  constexpr double n = kSub;
  AffineFit best;
  float low = 0;
  float high = x[0];
  float sum[kSub];
  for (std::size_t i = 0; i < kSub; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    sum[i] = x[i];
  }
  best.x_sum = fold<kSub>(sum);
  best.m = -low;
  const float range = high - low;
  if (!(range > 0x1p-40f)) return best;

  float best_error = kInfinity;
  for (int start = 0; start < kStarts; ++start) {
    float s = range / (max_code + -1.0f + 0.5f * static_cast<float>(start));
    float m = -low;
    for (int round = 0; round < kRounds; ++round) {
      const Pass p = quantise(x, s, m, max_code);
      if (p.error < best_error) {
        best_error = p.error;
        best.s = s;
        best.m = m;
      }
      const double q = p.q;
      const double determinant = n * p.qq - q * q;
      if (!(determinant > 0)) break;
      double next_s = (n * p.qx - q * best.x_sum) / determinant;
      double next_m = (next_s * q - best.x_sum) / n;
      if (next_m < 0) {
        next_m = 0;
        next_s = p.qx / static_cast<double>(p.qq);
      }
      if (!(next_s > 0x1p-60)) break;
      s = static_cast<float>(next_s);
      m = static_cast<float>(next_m);
    }
  }
  return best;
}

/// A whole block with everything but the codes decided.
struct AffineChoice {
  double error = static_cast<double>(kInfinity);
  std::uint16_t d = 0;
  std::uint16_t dmin = 0;
  KScales scales{};
  // Least squares for d and dmin with these scales and codes; A = sc * q, B = m.
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
};

std::uint8_t six_bits(float v) noexcept { return static_cast<std::uint8_t>(std::clamp(v, 0.0f, 63.0f) + 0.5f); }

class AffineSearch {
 public:
  AffineSearch(const Normalised& block, float max_code) noexcept : block_(block), max_code_(max_code) {
    for (std::size_t s = 0; s < 8; ++s) fits_[s] = fit_affine(block.x + kSub * s, max_code);
  }

  AffineChoice run() noexcept {
    float s_max = 0, m_max = 0;
    for (const AffineFit& f : fits_) {
      s_max = std::max(s_max, f.s);
      m_max = std::max(m_max, f.m);
    }
    const double s_top = s_max, m_top = m_max;
    const std::uint16_t d0 = block_.to_half(s_top / 63), dmin0 = block_.to_half(m_top / 63);
    for (int top = 63; top > 63 - kTops; --top) try_scales(block_.to_half(s_top / top), dmin0);
    if (subnormal(d0)) try_scales(static_cast<std::uint16_t>(d0 + 1), dmin0);
    const std::uint16_t d = best_.d;
    for (int top = 62; top > 63 - kTops; --top) try_scales(d, block_.to_half(m_top / top));
    if (subnormal(dmin0)) try_scales(d, static_cast<std::uint16_t>(dmin0 + 1));
    for (int i = 0; i < kRefinements; ++i) {
      const double before = best_.error;
      refine();
      if (!(best_.error < before)) break;
    }
    return best_;
  }

 private:
  void refine() noexcept {
    const AffineChoice& b = best_;
    const double determinant = b.aa * b.bb - b.ab * b.ab;
    double d = 0, dmin = 0;
    if (determinant > 1e-9 * b.aa * b.bb) {
      d = (b.ax * b.bb - b.ab * b.bx) / determinant;
      dmin = (b.ab * b.ax - b.aa * b.bx) / determinant;
    } else if (b.aa > 0) {
      d = b.ax / b.aa;
    } else if (b.bb > 0) {
      dmin = -b.bx / b.bb;
    }
    try_scales(block_.to_half(std::max(d, 0.0)), block_.to_half(std::max(dmin, 0.0)));
  }

  void try_scales(std::uint16_t d, std::uint16_t dmin) noexcept {
    if (d == last_d_ && dmin == last_dmin_) return;
    last_d_ = d;
    last_dmin_ = dmin;
    AffineChoice c;
    c.d = d;
    c.dmin = dmin;
    c.error = 0;
    for (std::size_t s = 0; s < 8; ++s) choose(s, block_.from_half(d), block_.from_half(dmin), c);
    if (c.error < best_.error) best_ = c;
  }

  /// The best sc and m of sub-block `sub` near its own fit.
  void choose(std::size_t sub, float d, float dmin, AffineChoice& c) noexcept {
    const float* x = block_.x + kSub * sub;
    const AffineFit& fit = fits_[sub];
    const float inverse_d = reciprocal(d);
    const float inverse_dmin = reciprocal(dmin);
    const int sc0 = six_bits(fit.s * inverse_d);
    float best_error = kInfinity;
    int best_sc = 0, best_m = 0;
    const auto consider = [&](int sc, int m) {
      if (m < 0 || m > (dmin != 0 ? 63 : 0)) return;
      const float error = quantise_error(x, d * static_cast<float>(sc), dmin * static_cast<float>(m), max_code_);
      if (error < best_error) {
        best_error = error;
        best_sc = sc;
        best_m = m;
      }
    };
    for (int sc = std::max(sc0 - 1, 0); sc <= std::min(sc0 + 1, d != 0 ? 63 : 0); ++sc) {
      const float s = d * static_cast<float>(sc);
      const Pass free = quantise(x, s, fit.m, max_code_);
      consider(sc, six_bits((s * free.q - fit.x_sum) / static_cast<float>(kSub) * inverse_dmin));
    }
    const int m0 = best_m;
    consider(best_sc, m0 - 1);
    consider(best_sc, m0 + 1);
    const Pass best = quantise(x, d * static_cast<float>(best_sc), dmin * static_cast<float>(best_m), max_code_);
    c.error += static_cast<double>(best.error);
    c.scales.sc[sub] = static_cast<std::uint8_t>(best_sc);
    c.scales.m[sub] = static_cast<std::uint8_t>(best_m);
    c.aa += static_cast<double>(best_sc) * best_sc * best.qq;
    c.ab += static_cast<double>(best_sc) * best_m * best.q;
    c.bb += static_cast<double>(best_m) * best_m * kSub;
    c.ax += static_cast<double>(best_sc) * best.qx;
    c.bx += static_cast<double>(best_m) * fit.x_sum;
  }

  const Normalised& block_;
  float max_code_;
  AffineFit fits_[8];
  AffineChoice best_;
  std::uint16_t last_d_ = 0x7c00, last_dmin_ = 0x7c00;  // the pair tried last: roundings often coincide
};

}  // namespace

void search_affine(const float* x, int max_code, AffineBlock& out) noexcept {
  out = {};
  const Normalised block(x);
  if (block.factor == 0) return;
  const AffineChoice c = AffineSearch(block, static_cast<float>(max_code)).run();
  out.scales = c.scales;
  for (std::size_t s = 0; s < 8; ++s) {
    if (c.scales.sc[s] != 0) out.d = c.d;
    if (c.scales.m[s] != 0) out.dmin = c.dmin;
  }
  const float d = block.from_half(c.d);
  const float dmin = block.from_half(c.dmin);
  for (std::size_t i = 0; i < 256; ++i) {
    const float s = d * static_cast<float>(c.scales.sc[i / kSub]);
    const float m = dmin * static_cast<float>(c.scales.m[i / kSub]);
    out.codes[i] =
        static_cast<std::uint8_t>(nearest_code((block.x[i] + m) * reciprocal(s), static_cast<float>(max_code)));
  }
}

}  // namespace nibblas::formats
