// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cases.hpp"
#include "limits/limits.hpp"
#include "machine.hpp"
#include "nibblas/status.hpp"
#include "runner.hpp"

namespace nibblas::bench {

nlohmann::json machine_json(const Machine& machine, const std::vector<Limits>& limits);

/// One timed case. Times in milliseconds, speeds in 1e9 a second, ratios > 1 when we are faster. "peers" has every peer
/// asked for; the case's own peer_... keys are those of the fastest.
nlohmann::json case_json(const CaseResult& result);

/// {"machine", "cases", "skipped", "failed"}: timed cases; the other two have name and reason.
nlohmann::json run_json(const Machine& machine, const std::vector<Limits>& limits,
                        const std::vector<CaseResult>& results, const std::vector<Skipped>& skipped);

Status write_json(const std::string& path, const nlohmann::json& json);

}  // namespace nibblas::bench
