// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace nibblas::bench {
namespace {

constexpr std::size_t kBarWidth = 24;
/// Fractions of a limit above this are not the noise of two measurements.
constexpr double kCredible = 1.1;

std::string bound_by(const CaseResult& r) {
  const bool memory = r.speed.weight_gbs * r.speed.limit_gops > r.speed.gops * r.speed.limit_gbs;
  if (memory) return r.spec.hot ? "DRAM (weights hot)" : "DRAM";
  return fmt::format("{} {}", r.limit_isa, r.spec.compute == Compute::f32 ? "f32" : "int8");
}

}  // namespace

Table::Table(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    provider_ = std::max(provider_, c.provider.size());
    kernel_ = std::max(kernel_, std::string_view(c.kernel->name).size());
    tensor_ = std::max(tensor_, c.source->tensor.size());
    shape_ = std::max(shape_, c.source->shape().size());
  }
}

std::string Table::columns(std::string_view provider, std::string_view kernel, std::string_view tensor,
                           std::string_view shape, std::string_view M, std::string_view threads,
                           std::string_view layout) const {
  std::string line = tensor_ == 0 ? std::string() : fmt::format("{:<{}} ", tensor, tensor_);
  return line + fmt::format("{:<{}} {:<{}} {:<{}} {:>5} {:>3} {:<9}", shape, shape_, provider, provider_, kernel,
                            kernel_, M, threads, layout);
}

std::string Table::header() const {
  return columns("provider", "kernel", "tensor", "KxN", "M", "thr", "weights") +
         fmt::format(" {:>10} {:>8} {:>8} {:>7}  {:<18} {:>9} {:>6}", "ms", "GOP/s", "wGB/s", "% limit", "of", "rel L2",
                     "prep");
}

std::string Table::row(const CaseResult& r) const {
  const Case& c = r.spec;
  const std::string start = columns(c.provider, r.kernel, c.source->tensor, c.source->shape(), fmt::format("{}", c.M),
                                    fmt::format("{}", c.threads), c.packed ? "packed" : "zero-copy");
  if (r.outcome != Outcome::timed) {
    return start + fmt::format(" {}: {}", r.outcome == Outcome::skipped ? "skipped" : "FAILED", r.why);
  }
  const std::string prep = r.prepare_seconds ? fmt::format("{:.1f}%", 100 * r.prepare_share()) : "-";
  return start + fmt::format(" {:>10.4f} {:>8.1f} {:>8.2f} {:>6.1f}%  {:<18} {:>9.2e} {:>6}", r.seconds * 1e3,
                             r.speed.gops, r.speed.weight_gbs, 100 * r.speed.fraction_of_limit(), bound_by(r), r.rel_l2,
                             prep);
}

std::string Table::rivals(const CaseResult& r) const {
  const std::size_t before_ms = columns("", "", "", "", "", "", "").size();
  const auto line = [&](const PeerResult& p) {
    if (!p.timed()) return fmt::format("  {}: skipped: {}\n", p.peer, p.why_not);
    const std::string name = fmt::format("  {} ({})", p.peer, p.variant);
    return fmt::format("{:<{}} {:>10.4f} {:>9.2f} x our time, rel L2 {:.2e}\n", name, before_ms, p.seconds * 1e3,
                       p.ratio(), p.rel_l2);
  };
  std::string text;
  for (const PeerResult& p : r.peers) text += line(p);
  if (r.baseline) text += line(*r.baseline);
  return text;
}

std::string summary(const std::vector<CaseResult>& results, const std::vector<Skipped>& skipped) {
  std::string text;
  std::size_t counts[3] = {};
  for (const CaseResult& r : results) ++counts[static_cast<std::size_t>(r.outcome)];
  for (const Skipped& s : skipped) text += fmt::format("skipped {}: {}\n", s.name, s.reason);
  for (const CaseResult& r : results) {
    if (r.outcome == Outcome::failed) text += fmt::format("FAILED {}: {}\n", r.spec.name(), r.why);
  }
  // Limits are measured in turn with each case.
  const bool beyond = std::ranges::any_of(results, [](const CaseResult& r) {
    return r.outcome == Outcome::timed && !r.spec.hot && r.speed.fraction_of_limit() > kCredible;
  });
  if (beyond) {
    text += "A rate is beyond its limit: the machine was busy. Run again on an idle one.\n";
  }
  return text + fmt::format("{} verified and timed, {} skipped, {} failed\n",
                            counts[static_cast<std::size_t>(Outcome::timed)],
                            counts[static_cast<std::size_t>(Outcome::skipped)] + skipped.size(),
                            counts[static_cast<std::size_t>(Outcome::failed)]);
}

std::string limits_line(const Limits& l) {
  std::string text =
      fmt::format("limits, {} thread{}: DRAM {:.1f} GB/s", l.threads, l.threads == 1 ? "" : "s", l.dram_gbs);
  for (const IsaPeak& p : l.peaks) {
    text += fmt::format("; {} f32 {:.0f}, int8 {:.0f} GOP/s", p.isa, p.f32_gops, p.int8_gops);
  }
  return text;
}

Progress::Progress(std::size_t total) : total_(std::max<std::size_t>(total, 1)), on_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::size_t done, const std::string& name) const {
  if (!on_) return;
  const std::size_t filled = std::min(done, total_) * kBarWidth / total_;
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{} {}", "", filled, "", kBarWidth - filled, done, total_, name);
  std::fflush(stderr);
}

void Progress::clear() const {
  if (on_) fmt::print(stderr, "\r\033[K");
}

}  // namespace nibblas::bench
