// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "nibblas/status.hpp"

namespace nibblas::test {

/// A file that must be refused, and how.
struct HostileFile {
  std::string kind;
  std::vector<std::byte> bytes;
  StatusCode code;
  std::string says;  ///< part of the message
};

std::vector<HostileFile> hostile_corpus();

}  // namespace nibblas::test
