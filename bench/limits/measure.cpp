// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "limits/kernels.hpp"
#include "limits/limits.hpp"
#include "nibblas/buffer.hpp"

namespace nibblas::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = std::size_t{1} << 30;
constexpr std::size_t kGuardBytes = std::size_t{64} << 10;  // prefetches run past the end of a part
constexpr int kReadRepeats = 4;
constexpr int kPeakRepeats = 7;
constexpr double kPeakSeconds = 0.01;
constexpr std::uint64_t kPeakRounds = 1 << 16;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Runs fn(i) on n threads that start together; the time until the last one is done.
template <class Fn>
double timed_on_threads(std::size_t n, const Fn& fn) {
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < n; ++i) {
    others.emplace_back([&, i] {
      ready.fetch_add(1);
      while (!go.load()) std::this_thread::yield();
      fn(i);
    });
  }
  while (ready.load() + 1 < n) std::this_thread::yield();
  const Clock::time_point start = Clock::now();
  go.store(true);
  fn(0);
  for (std::thread& t : others) t.join();
  return seconds_since(start);
}

/// Best operations per second of `peak` on n threads, in units of 1e9.
template <class Sink>
double peak_gops(double (*peak)(std::uint64_t, Sink*) noexcept, std::size_t n) {
  Sink warm{};
  const Clock::time_point start = Clock::now();
  peak(kPeakRounds, &warm);
  const double rounds_per_second = static_cast<double>(kPeakRounds) / std::max(seconds_since(start), 1e-9);
  const auto rounds = static_cast<std::uint64_t>(std::max(1.0, rounds_per_second * kPeakSeconds));
  double best = 0;
  std::vector<double> operations(n);
  for (int r = 0; r < kPeakRepeats; ++r) {
    const double t = timed_on_threads(n, [&](std::size_t i) {
      Sink sink{};
      operations[i] = peak(rounds, &sink);
    });
    best = std::max(best, operations[0] * static_cast<double>(n) / t);
  }
  return best * 1e-9;
}

void measure_dram(const LimitIsa& isa, const Buffer& buffer, Limits& out) {
  const std::size_t part = kReadBytes / out.threads / 4096 * 4096;
  std::atomic<std::uint64_t> sink{0};
  for (const std::size_t streams : {std::size_t{1}, std::size_t{4}, std::size_t{8}}) {
    for (const std::size_t prefetch : {std::size_t{0}, std::size_t{1024}, std::size_t{4096}}) {
      for (int r = 0; r < kReadRepeats; ++r) {
        const double t = timed_on_threads(out.threads, [&](std::size_t i) {
          sink += isa.read({buffer.data() + i * part, part, streams, prefetch});
        });
        const double gbs = static_cast<double>(part * out.threads) / t * 1e-9;
        if (gbs > out.dram_gbs) {
          out.dram_gbs = gbs;
          out.dram_streams = streams;
          out.dram_prefetch = prefetch;
        }
      }
    }
  }
}

}  // namespace

Result<std::vector<Limits>> measure_limits(const CpuInfo& cpu, const std::vector<std::size_t>& thread_counts) {
  Buffer buffer(kReadBytes + kGuardBytes);
  if (buffer.data() == nullptr) {
    return Status(StatusCode::out_of_memory, "no 1 GiB buffer to measure the memory bandwidth with");
  }
  std::memset(buffer.data(), 1, buffer.size());  // pages that were never written all read the same zero page

  const LimitIsa* best = nullptr;
  std::vector<Limits> all;
  for (const std::size_t threads : thread_counts) {
    Limits limits;
    limits.threads = threads;
    for (const LimitIsa* isa : limit_isas()) {
      if (!cpu.features.includes(isa->needs)) continue;
      best = isa;
      limits.peaks.push_back({isa->name, isa->f32_how, isa->int8_how, isa->needs, isa->f32_needs,
                              peak_gops(isa->f32, threads), peak_gops(isa->int8, threads), isa});
    }
    limits.reader = best;
    measure_dram(*best, buffer, limits);
    all.push_back(std::move(limits));
  }
  return all;
}

const IsaPeak& peak_for(const Limits& limits, CpuFeatures kernel_needs, Compute compute) noexcept {
  const IsaPeak* best = &limits.peaks.front();
  for (const IsaPeak& p : limits.peaks) {
    if (kernel_needs.includes(compute == Compute::f32 ? p.f32_needs : p.needs)) best = &p;
  }
  return *best;
}

double limit_gops(const Limits& limits, CpuFeatures kernel_needs, Compute compute) noexcept {
  const IsaPeak& peak = peak_for(limits, kernel_needs, compute);
  return compute == Compute::f32 ? peak.f32_gops : peak.int8_gops;
}

}  // namespace nibblas::bench
