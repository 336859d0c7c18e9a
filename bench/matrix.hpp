// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nibblas/registry.hpp"

namespace nibblas::bench {

/// README's table of formats, computes and the registry's providers, as Markdown: formats with the same cells share a
/// row. It depends on the build and not on the CPU. The standard library is enough for it, so that cross builds, which
/// lack the benchmark's libraries, can print it too.
std::string support_matrix(const KernelRegistry& registry);

}  // namespace nibblas::bench
