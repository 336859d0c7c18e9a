// SPDX-License-Identifier: Apache-2.0
#include "copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "metrics.hpp"

namespace nibblas::bench {
namespace {

constexpr std::size_t kLine = 64;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

CopyPlan plan_copies(std::size_t bytes, bool hot) {
  CopyPlan plan;
  plan.stride = round_up(std::max<std::size_t>(bytes, 1), kLine);
  if (hot) return plan;
  plan.copies = (kColdBytes + plan.stride - 1) / plan.stride;
  if (plan.copies > kMaxRepetitions) {
    plan.copies = kMaxRepetitions;
    plan.stride = kColdBytes / kMaxRepetitions / kLine * kLine;
    plan.needs_flush = true;
  }
  return plan;
}

Status CopyArena::reserve(std::size_t bytes, bool hot) {
  plan_ = plan_copies(bytes, hot);
  const std::size_t needed = std::max(plan_.copies * plan_.stride, hot ? 0 : kColdBytes);
  if (memory_.size() >= needed) return {};
  release();
  memory_ = Buffer(needed);
  if (memory_.data() == nullptr) {
    return {StatusCode::out_of_memory, fmt::format("no {} MB for weights", needed / 1000000)};
  }
  std::memset(memory_.data(), 0, memory_.size());
  return {};
}

void CopyArena::release() { memory_ = Buffer(); }

void CopyArena::flush_if_needed() const {
  if (!plan_.needs_flush) return;
  std::byte all{0};
  for (std::size_t i = 0; i < memory_.size(); i += kLine) all |= memory_.data()[i];
  std::atomic_signal_fence(std::memory_order_seq_cst);
  static std::atomic<unsigned char> sink;
  sink.store(std::to_integer<unsigned char>(all), std::memory_order_relaxed);
}

}  // namespace nibblas::bench
