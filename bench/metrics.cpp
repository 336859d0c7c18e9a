// SPDX-License-Identifier: Apache-2.0
#include "metrics.hpp"

#include <algorithm>

#include "nibblas/formats.hpp"
#include "nibblas/panel.hpp"

namespace nibblas::bench {
namespace {

constexpr std::size_t kMinRepetitions = 7;
constexpr std::size_t kMinSlowRepetitions = 3;
constexpr double kSlowSeconds = 0.15;

bool is_ternary(DType t) { return t == DType::tq1_0 || t == DType::tq2_0 || t == DType::bitnet_b158; }

double ratio(double value, double limit) { return limit > 0 ? value / limit : 0; }

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double weight_bytes(DType dtype, std::size_t N, std::size_t K, bool packed) {
  if (packed && is_ternary(dtype)) return static_cast<double>(panel_count(N) * panel_layout(dtype).panel_bytes(K));
  const Result<std::size_t> bytes = tensor_bytes(dtype, N, K);
  return bytes ? static_cast<double>(*bytes) : 0;
}

double Speed::fraction_of_limit() const { return std::max(ratio(weight_gbs, limit_gbs), ratio(gops, limit_gops)); }

Speed speed(std::size_t M, std::size_t N, std::size_t K, double weight_bytes, double seconds, double limit_gops,
            double limit_gbs) {
  const double operations = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K);
  return {ratio(operations, seconds) * 1e-9, ratio(weight_bytes, seconds) * 1e-9, limit_gops, limit_gbs};
}

std::size_t repetitions(double seconds, double budget) {
  const std::size_t least = seconds > kSlowSeconds ? kMinSlowRepetitions : kMinRepetitions;
  const double wanted = seconds > 0 ? budget / seconds : static_cast<double>(kMaxRepetitions);
  if (wanted >= static_cast<double>(kMaxRepetitions)) return kMaxRepetitions;
  return std::max(least, static_cast<std::size_t>(wanted));
}

}  // namespace nibblas::bench
