// SPDX-License-Identifier: Apache-2.0
#include "overlap.hpp"

#include <algorithm>
#include <array>

#include "nibblas/formats.hpp"
#include "status_message.hpp"

namespace nibblas {
namespace {

/// No memory is this large; sums of a few such extents fit 64 bits.
constexpr std::size_t kMostBytes = std::size_t{1} << (sizeof(std::size_t) * 8 - 4);
constexpr int kMostSteps = 1 << 16;

/// Bytes from the first to the last, or kMostBytes if they are more.
std::size_t extent(const Runs& r) noexcept {
  std::size_t bytes = r.width;
  for (const Runs::Level& level : {r.inner, r.outer}) {
    if (level.count == 0) return 0;
    if (level.stride != 0 && level.count - 1 > (kMostBytes - std::min(bytes, kMostBytes)) / level.stride) {
      return kMostBytes;
    }
    bytes += level.stride * (level.count - 1);
  }
  return r.width == 0 ? 0 : std::min(bytes, kMostBytes);
}

/// Steps of `stride`, any number of them in [low, high].
struct Steps {
  std::int64_t stride = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b != 0 && (a < 0)); }

/// Which distances lie between a run of one operand and a run of the other: base + a sum of steps.
class Distances {
 public:
  void add(const Runs::Level& level, std::int64_t sign) noexcept {
    if (level.stride == 0 || level.count == 1) return;
    const auto stride = static_cast<std::int64_t>(level.stride);
    const auto last = static_cast<std::int64_t>(level.count - 1);
    std::size_t i = 0;
    while (i < size_ && steps_[i].stride > stride) ++i;
    // Equal strides are one dimension: row n of one and row m of the other are n - m steps apart.
    if (i == size_ || steps_[i].stride != stride) {
      for (std::size_t j = size_++; j > i; --j) steps_[j] = steps_[j - 1];
      steps_[i] = {stride, 0, 0};
    }
    steps_[i].low -= sign < 0 ? last : 0;
    steps_[i].high += sign > 0 ? last : 0;
  }

  /// Is any in [low, high]?
  bool reach(std::int64_t base, std::int64_t low, std::int64_t high) noexcept { return reach(0, base, low, high); }

 private:
  bool reach(std::size_t i, std::int64_t base, std::int64_t low, std::int64_t high) noexcept {
    if (i == size_) return base >= low && base <= high;
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (std::size_t j = i + 1; j < size_; ++j) {
      least += steps_[j].stride * steps_[j].low;
      most += steps_[j].stride * steps_[j].high;
    }
    const Steps& s = steps_[i];
    const std::int64_t first = std::max(s.low, -floor_div(base + most - low, s.stride));
    const std::int64_t last = std::min(s.high, floor_div(high - base - least, s.stride));
    if (i + 1 == size_) return first <= last;
    for (std::int64_t n = first; n <= last && budget_ > 0; ++n, --budget_) {
      if (reach(i + 1, base + n * s.stride, low, high)) return true;
    }
    return false;
  }

  /// The widest first: of nested levels hardly one number of the outer steps comes into question.
  std::array<Steps, 4> steps_{};
  std::size_t size_ = 0;
  int budget_ = kMostSteps;
};

}  // namespace

Runs runs_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<std::uintptr_t>(bytes.data()), bytes.size(), {}, {}};
}

Runs runs_of(const ConstMatrixView& m) noexcept {
  return {reinterpret_cast<std::uintptr_t>(m.data), m.cols * sizeof(float), {m.stride * sizeof(float), m.rows}, {}};
}

Runs runs_of(const WeightView& w) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(w.data);
  if (w.N == 0 || w.K == 0) return {};
  if (w.dtype == DType::bitnet_b158) return {begin, *tensor_bytes(w.dtype, w.N, w.K), {}, {}};
  const std::size_t row = *row_bytes(w.dtype, w.K);
  return {begin, row, {w.stride(row), w.N}, {}};
}

bool meet(const Runs& a, const Runs& b) noexcept {
  const std::size_t a_bytes = extent(a);
  const std::size_t b_bytes = extent(b);
  const bool apart = a.begin <= b.begin ? b.begin - a.begin >= a_bytes : a.begin - b.begin >= b_bytes;
  if (apart || a_bytes == 0 || b_bytes == 0 || a_bytes == kMostBytes || b_bytes == kMostBytes) return false;
  Distances distances;
  distances.add(a.inner, 1);
  distances.add(a.outer, 1);
  distances.add(b.inner, -1);
  distances.add(b.outer, -1);
  return distances.reach(static_cast<std::int64_t>(a.begin - b.begin), 1 - static_cast<std::int64_t>(a.width),
                         static_cast<std::int64_t>(b.width) - 1);
}

Status check_apart(const char* a_name, const Runs& a, const char* b_name, const Runs& b) noexcept {
  if (!meet(a, b)) return {};
  return error(StatusCode::invalid_argument, a_name, " shares memory with ", b_name);
}

}  // namespace nibblas
