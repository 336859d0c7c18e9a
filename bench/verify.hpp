// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cases.hpp"
#include "nibblas/views.hpp"
#include "support/oracle.hpp"

namespace nibblas::bench {

/// Up to this many multiply-adds every element is checked.
inline constexpr std::size_t kWholeCheck = std::size_t{1} << 28;

/// The rows of W whose outputs are checked, ascending: all of them up to kWholeCheck, else 64 seeded ones and the first
/// and the last panel.
std::vector<std::size_t> rows_to_check(std::size_t M, std::size_t N, std::size_t K);

struct Verification {
  bool ok = false;
  double rel_l2 = 0;
  std::string why_not;  ///< the worst element
};

/// Compares with the double oracle; keeps the last oracle, since neighbouring cases share it.
class Verifier {
 public:
  Result<Verification> check(const Case& c, const WeightView& w, ConstMatrixView x, ConstMatrixView y);

 private:
  const WeightSource* source_ = nullptr;
  std::vector<test::Oracle> oracles_;  ///< of source_, one an M
};

}  // namespace nibblas::bench
