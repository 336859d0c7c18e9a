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
  double seconds = 0.5;            ///< of timing, a case
  std::vector<std::string> peers;  ///< run the same beside ours
  std::string peer_dir;            ///< of ggml; empty: where bench/get-peers.sh puts it
  std::string peer_variant;        ///< of ggml; empty: the one that fits the kernel
  bool baseline = false;           ///< time decoding and multiplying in plain C++, too
  std::vector<std::string> benchmark_flags;

  /// Nothing but defaults decides how much work there is, so slow cases may be left out.
  bool is_default_run() const { return shapes.empty() && m.empty() && gguf.empty(); }
};

struct TilingOptions {
  RunOptions run;             ///< the products
  std::size_t row_block = 8;  ///< panels, of the fixed plan
  bool sweep = false;         ///< try other row blocks, too
};

struct LayerOptions {
  std::size_t hidden = 4096;
  std::size_t ffn = 11008;
  std::size_t heads = 32;  ///< hidden is a multiple of it
  std::size_t kv_heads = 8;
  std::vector<DType> weights;
  std::vector<std::size_t> m;
  std::vector<std::size_t> threads;
  std::string provider;  ///< empty: the registry's choice
  bool hot = false;
  double seconds = 0.5;  ///< of timing, a case
  std::string json;
};

}  // namespace nibblas::bench
