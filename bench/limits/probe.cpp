// SPDX-License-Identifier: Apache-2.0
#include "limits/probe.hpp"

#include <algorithm>
#include <atomic>

#include "limits/kernels.hpp"

namespace nibblas::bench {
namespace {

constexpr double kPeakSeconds = 2e-4;
constexpr std::size_t kLine = 64;

/// What depends on the work goes here, so that it cannot be left out.
std::atomic<std::uint64_t> sink;

/// fn(i) for each i below the number of the executor's threads.
template <class Fn>
void on_each_thread(Executor& executor, const Fn& fn) {
  executor.parallel_for(
      executor.concurrency(),
      {[](void* arg, std::size_t i) noexcept { (*static_cast<const Fn*>(arg))(i); }, const_cast<Fn*>(&fn)});
}

}  // namespace

LimitProbe::LimitProbe(const Limits& limits, CpuFeatures kernel_needs, Compute compute, Executor& executor)
    : limits_(limits),
      peak_(peak_for(limits, kernel_needs, compute)),
      is_f32_(compute == Compute::f32),
      executor_(executor) {
  float f = 0;
  std::int32_t i = 0;
  const double once = is_f32_ ? peak_.loops->f32(1, &f) : peak_.loops->int8(1, &i);
  const auto threads = static_cast<double>(executor.concurrency());
  const double gops = limit_gops(limits, kernel_needs, compute);
  rounds_ = static_cast<std::uint64_t>(std::max(1.0, kPeakSeconds * gops * 1e9 / (once * threads)));
  operations_ = once * static_cast<double>(rounds_) * threads;
}

void LimitProbe::read(std::span<const std::byte> bytes) const {
  const std::size_t threads = executor_.concurrency();
  const std::size_t lines = bytes.size() / kLine;
  on_each_thread(executor_, [&](std::size_t i) {
    const std::size_t first = lines * i / threads * kLine;
    const std::size_t last = lines * (i + 1) / threads * kLine;
    sink += limits_.reader->read({bytes.data() + first, last - first, limits_.dram_streams, limits_.dram_prefetch});
  });
}

void LimitProbe::compute() const {
  on_each_thread(executor_, [&](std::size_t) {
    float f = 0;
    std::int32_t i = 0;
    is_f32_ ? peak_.loops->f32(rounds_, &f) : peak_.loops->int8(rounds_, &i);
    sink += static_cast<std::uint64_t>(i) + (f > 0 ? 1 : 0);
  });
}

Result<TimingBesideLimits> LimitProbe::time(
    std::size_t copies, double budget, const Timed& once,
    const std::function<std::span<const std::byte>(std::size_t copy)>& bytes) const {
  std::vector<Timed> ways{once, [&](std::size_t) {
                            compute();
                            return Status{};
                          }};
  if (bytes) {
    ways.emplace_back([&](std::size_t copy) {
      read(bytes(copy));
      return Status{};
    });
  }
  const Result<std::vector<Timing>> t = time_alternately(copies, budget, ways);
  if (!t) return t.status();
  const double gbs = bytes ? static_cast<double>(bytes(0).size()) / t->back().seconds * 1e-9 : limits_.dram_gbs;
  return TimingBesideLimits{t->front(), operations_ / (*t)[1].seconds * 1e-9, gbs};
}

}  // namespace nibblas::bench
