// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "options.hpp"

namespace nibblas::bench {

/// The program is to end now: help (0) or a command line it does not understand (2).
struct Exit {
  int code = 0;
  std::string message;
};

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

using Command = std::variant<Exit, InfoOptions, LimitsOptions, RunOptions, TilingOptions, LayerOptions>;

Command parse_command_line(int argc, const char* const* argv);

}  // namespace nibblas::bench
