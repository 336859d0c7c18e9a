// SPDX-License-Identifier: Apache-2.0
// An object without its table: the guard must not take an empty list of symbols for a good one.

namespace {
[[maybe_unused]] constexpr int nothing = 0;
}
