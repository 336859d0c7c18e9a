// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "limits/limits.hpp"
#include "runner.hpp"

namespace nibblas::bench {

/// The table, a line at a time. Columns fit the cases.
class Table {
 public:
  explicit Table(const std::vector<Case>& cases);
  std::string header() const;
  /// A case that was skipped or failed has no speed.
  std::string row(const CaseResult& result) const;
  /// A line for each peer and the baseline, or nothing.
  std::string rivals(const CaseResult& result) const;

 private:
  std::string columns(std::string_view provider, std::string_view kernel, std::string_view tensor,
                      std::string_view shape, std::string_view M, std::string_view threads,
                      std::string_view layout) const;

  std::size_t provider_ = 8;
  std::size_t kernel_ = 6;
  std::size_t tensor_ = 0;  ///< no such column when the weights are made
  std::size_t shape_ = 3;
};

/// What was not run and what went wrong, and how many cases were timed.
std::string summary(const std::vector<CaseResult>& results, const std::vector<Skipped>& skipped);
/// The limits that the percentages refer to.
std::string limits_line(const Limits& limits);

/// On stderr, and only if that is a terminal.
class Progress {
 public:
  explicit Progress(std::size_t total);
  void show(std::size_t done, const std::string& name) const;
  void clear() const;

 private:
  std::size_t total_;
  bool on_;
};

}  // namespace nibblas::bench
