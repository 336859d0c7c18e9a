// SPDX-License-Identifier: Apache-2.0
#include "support/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "nibblas/formats.hpp"

namespace nibblas::test {
namespace {

constexpr std::size_t kLanes = 8;  // independent sums, so that the compiler may vectorise
constexpr std::size_t kRoundBlock = 32;

bool has_minimum(DType t) noexcept { return t == DType::q4_k || t == DType::q5_k; }

float load_f16(const std::byte* p) noexcept {
  std::uint16_t h = 0;
  std::memcpy(&h, p, sizeof h);
  return f16_to_f32(h);
}

/// dmin * m of sub-block s of a q4_k or q5_k block.
double minimum_term(const std::byte* block, std::size_t s) noexcept {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(block[4 + i]); };
  const unsigned m = s < 4 ? byte(s + 4) & 63u : (byte(s + 4) >> 4) | (byte(s) >> 6 << 4);
  return static_cast<double>(load_f16(block + 2)) * m;
}

/// |d * sc * q| + |dmin * m| for each element, from the decoded w = d * sc * q - dmin * m.
void magnitudes(const WeightView& w, std::size_t row, const double* decoded, double* out) {
  if (!has_minimum(w.dtype)) {
    std::transform(decoded, decoded + w.K, out, [](double v) { return std::fabs(v); });
    return;
  }
  const DTypeInfo& t = info(w.dtype);
  const std::size_t stride = w.stride(w.K / t.block_elems * t.block_bytes);
  const std::byte* bytes = w.data + row * stride;
  for (std::size_t k = 0; k < w.K; k += kRoundBlock) {
    const double min = minimum_term(bytes + k / t.block_elems * t.block_bytes, k % t.block_elems / kRoundBlock);
    for (std::size_t i = k; i < k + kRoundBlock; ++i) out[i] = std::fabs(decoded[i] + min) + std::fabs(min);
  }
}

struct Sums {
  double dot = 0;
  double magnitude = 0;
};

Sums weigh(const float* x, const double* w, const double* magnitude, std::size_t K) noexcept {
  double dot[kLanes] = {};
  double mag[kLanes] = {};
  std::size_t k = 0;
  for (; k + kLanes <= K; k += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double xj = static_cast<double>(x[k + j]);
      dot[j] += xj * w[k + j];
      mag[j] += std::fabs(xj) * magnitude[k + j];
    }
  }
  Sums s;
  for (; k < K; ++k) {
    s.dot += static_cast<double>(x[k]) * w[k];
    s.magnitude += std::fabs(static_cast<double>(x[k])) * magnitude[k];
  }
  s.dot += std::accumulate(dot, dot + kLanes, 0.0);
  s.magnitude += std::accumulate(mag, mag + kLanes, 0.0);
  return s;
}

/// For each row of X dx / 2 of every 32 elements, then dx / 2 of the row.
std::vector<double> half_steps(ConstMatrixView x) {
  const std::size_t blocks = x.cols / kRoundBlock + (x.cols % kRoundBlock != 0);
  std::vector<double> steps(x.rows * (blocks + 1));
  for (std::size_t m = 0; m < x.rows; ++m) {
    double* step = steps.data() + m * (blocks + 1);
    for (std::size_t k = 0; k < x.cols; ++k) {
      const double a = std::fabs(static_cast<double>(x.data[m * x.stride + k])) / 254;
      step[k / kRoundBlock] = std::max(step[k / kRoundBlock], a);
      step[blocks] = std::max(step[blocks], a);
    }
  }
  return steps;
}

/// One row of W in the forms that the sums need.
struct DecodedRow {
  std::vector<float> f32;
  std::vector<double> w;
  std::vector<double> magnitude;
  std::vector<double> block_abs;  ///< sum of |w| of every 32

  explicit DecodedRow(std::size_t K)
      : f32(K), w(K), magnitude(K), block_abs(K / kRoundBlock + (K % kRoundBlock != 0)) {}

  Status decode(const WeightView& view, std::size_t row) {
    if (Status s = dequantize(view, row, {f32.data(), 1, view.K}); !s) return s;
    std::copy(f32.begin(), f32.end(), w.begin());
    magnitudes(view, row, w.data(), magnitude.data());
    std::fill(block_abs.begin(), block_abs.end(), 0.0);
    for (std::size_t k = 0; k < w.size(); ++k) block_abs[k / kRoundBlock] += std::fabs(w[k]);
    return {};
  }
};

}  // namespace

double Oracle::bound(Compute compute, std::size_t i) const noexcept {
  constexpr double kU = 0x1p-24;
  const double k = static_cast<double>(K);
  const bool plain = weights == DType::f32 || weights == DType::f16 || weights == DType::bf16;
  const double block = weights == DType::q6_k ? 16 : 32;
  const double steps = plain ? 64 + 16 + std::ceil(k / 1024) + 4 : block + std::ceil(k / block) + 4;
  const double arithmetic = steps * kU * magnitude[i];
  if (compute == Compute::int8) return arithmetic + rounding32[i];
  return compute == Compute::int8_token ? arithmetic + rounding_row[i] : arithmetic;
}

Result<Oracle> make_oracle(const WeightView& w, ConstMatrixView x) {
  std::vector<std::size_t> rows(w.N);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return make_oracle(w, x, std::move(rows));
}

Result<Oracle> make_oracle(const WeightView& w, ConstMatrixView x, std::vector<std::size_t> rows) {
  if (x.cols != w.K) {
    return Status(StatusCode::shape_mismatch, "X has " + std::to_string(x.cols) + " columns, W " + std::to_string(w.K));
  }
  for (const std::size_t r : rows) {
    if (r >= w.N)
      return Status(StatusCode::invalid_argument, "row " + std::to_string(r) + " of " + std::to_string(w.N));
  }
  Oracle o;
  o.weights = w.dtype;
  o.M = x.rows;
  o.K = w.K;
  o.rows = std::move(rows);
  const std::size_t R = o.rows.size();
  for (std::vector<double>* v : {&o.y, &o.magnitude, &o.rounding32, &o.rounding_row}) v->resize(o.M * R);

  const std::vector<double> steps = half_steps(x);
  DecodedRow row(w.K);
  const std::size_t blocks = row.block_abs.size();
  for (std::size_t r = 0; r < R; ++r) {
    if (Status s = row.decode(w, o.rows[r]); !s) return s;
    const double row_abs = std::accumulate(row.block_abs.begin(), row.block_abs.end(), 0.0);
    for (std::size_t m = 0; m < o.M; ++m) {
      const Sums s = weigh(x.data + m * x.stride, row.w.data(), row.magnitude.data(), w.K);
      const double* step = steps.data() + m * (blocks + 1);
      o.y[m * R + r] = s.dot;
      o.magnitude[m * R + r] = s.magnitude;
      o.rounding32[m * R + r] = std::inner_product(step, step + blocks, row.block_abs.begin(), 0.0);
      o.rounding_row[m * R + r] = step[blocks] * row_abs;
    }
  }
  return o;
}

Comparison compare(const Oracle& oracle, Compute compute, ConstMatrixView y) {
  Comparison c;
  double error_squares = 0;
  double squares = 0;
  const std::size_t R = oracle.rows.size();
  for (std::size_t m = 0; m < oracle.M; ++m) {
    for (std::size_t r = 0; r < R; ++r) {
      const std::size_t i = m * R + r;
      const double got = static_cast<double>(y.data[m * y.stride + oracle.rows[r]]);
      const double want = oracle.y[i];
      const double bound = oracle.bound(compute, i);
      const double error = std::fabs(got - want);
      const bool ok = error <= bound && std::isfinite(bound);  // false for NaN
      double ratio = bound > 0 ? error / bound : error > 0 ? std::numeric_limits<double>::infinity() : 0;
      if (!(ratio <= std::numeric_limits<double>::max())) ratio = std::numeric_limits<double>::infinity();
      if (ratio > c.worst || c.checked == 0) {
        c.worst = ratio;
        c.worst_m = m;
        c.worst_n = oracle.rows[r];
        c.got = got;
        c.want = want;
        c.bound = bound;
      }
      c.ok = c.ok && ok;
      error_squares += error * error;
      squares += want * want;
      ++c.checked;
    }
  }
  c.rel_l2 = error_squares == 0 ? 0 : std::sqrt(error_squares / squares);
  return c;
}

}  // namespace nibblas::test
