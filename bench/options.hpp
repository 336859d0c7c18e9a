// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nibblas/dtype.hpp"

namespace nibblas::bench {

struct Shape {
  std::size_t K = 0;
  std::size_t N = 0;
  bool operator==(const Shape&) const = default;
};

struct InfoOptions {
  bool verbose = false;
  bool matrix = false;  ///< only the table of what this build supports, in Markdown
};

struct LimitsOptions {
  std::string json;  ///< file, or empty
};

struct RunOptions {
  std::vector<Shape> shapes;           ///< empty: the default shapes
  std::vector<std::size_t> m;          ///< empty: the default M
  std::vector<DType> weights;          ///< empty: all
  std::vector<Compute> computes;       ///< `automatic` = the format's default; empty: all that each format allows
  std::vector<std::string> providers;  ///< "" = the registry's choice
  std::vector<std::size_t> threads{1};
  bool packed = true;
  bool hot = false;
  std::string gguf;
  std::string json;
  double seconds = 0.5;  ///< of timing, a case
  std::vector<std::string> benchmark_flags;

  /// Nothing but defaults decides how much work there is, so slow cases may be left out.
  bool is_default_run() const { return shapes.empty() && m.empty() && gguf.empty(); }
};

}  // namespace nibblas::bench
