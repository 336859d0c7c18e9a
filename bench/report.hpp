// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cases.hpp"
#include "limits/limits.hpp"
#include "runner.hpp"

namespace nibblas::bench {

std::string table_header();
/// A line of the table, or the line of a case that was skipped or failed: that one has no speed.
std::string table_row(const CaseResult& result);
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
