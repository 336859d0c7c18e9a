// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nibblas/registry.hpp"
#include "options.hpp"

// The subcommands; each returns the program's exit code.

namespace nibblas::bench {

int info_command(const InfoOptions& options, KernelRegistry& registry);
int limits_command(const LimitsOptions& options);
int run_command(const RunOptions& options, KernelRegistry& registry);

int tiling_command(const TilingOptions& options, KernelRegistry& registry);

int layer_command(const LayerOptions& options, KernelRegistry& registry);

}  // namespace nibblas::bench
