// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli.hpp"
#include "commands.hpp"

namespace {

struct Run {
  nibblas::KernelRegistry& registry;

  int operator()(const nibblas::bench::Exit& exit) const {
    fmt::print(exit.code == 0 ? stdout : stderr, "{}", exit.message);
    return exit.code;
  }
  int operator()(const nibblas::bench::InfoOptions& options) const { return info_command(options, registry); }
  int operator()(const nibblas::bench::LimitsOptions& options) const { return limits_command(options); }
  int operator()(const nibblas::bench::RunOptions& options) const { return run_command(options, registry); }
  int operator()(const nibblas::bench::LayerOptions& options) const { return layer_command(options, registry); }
  int operator()(const nibblas::bench::TilingOptions& options) const { return tiling_command(options, registry); }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    return std::visit(Run{nibblas::KernelRegistry::shared()}, nibblas::bench::parse_command_line(argc, argv));
  } catch (const std::exception& e) {
    fmt::print(stderr, "nibblas-bench: {}\n", e.what());
    return nibblas::bench::kExitFailed;
  }
}
