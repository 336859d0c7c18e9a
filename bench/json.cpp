// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <fstream>

#include "nibblas/version.hpp"

namespace nibblas::bench {

nlohmann::json machine_json(const Machine& machine, const std::vector<Limits>& limits) {
  nlohmann::json measured = nlohmann::json::array();
  for (const Limits& l : limits) {
    nlohmann::json peaks = nlohmann::json::array();
    for (const IsaPeak& p : l.peaks) {
      peaks.push_back({{"isa", p.isa}, {"f32_gops", p.f32_gops}, {"int8_gops", p.int8_gops}});
    }
    measured.push_back({{"threads", l.threads},
                        {"dram_gbs", l.dram_gbs},
                        {"dram_streams", l.dram_streams},
                        {"dram_prefetch", l.dram_prefetch},
                        {"peaks", std::move(peaks)}});
  }
  return {{"nibblas", NIBBLAS_VERSION},
          {"compiler", machine.compiler},
          {"system", machine.system},
          {"arch", machine.cpu.arch},
          {"vendor", machine.cpu.vendor},
          {"brand", machine.cpu.brand},
          {"features", to_string(machine.cpu.features)},
          {"l1d_bytes", machine.cpu.caches.l1d},
          {"l2_bytes", machine.cpu.caches.l2},
          {"l3_bytes", machine.cpu.caches.l3},
          {"cpus", machine.cpus},
          {"threads", machine.threads},
          {"limits", std::move(measured)}};
}

namespace {

nlohmann::json peer_json(const PeerResult& p) {
  if (!p.timed()) return {{"peer", p.peer}, {"skipped", p.why_not}};
  return {{"peer", p.peer},
          {"peer_variant", p.variant},
          {"peer_ms", p.seconds * 1e3},
          {"peer_ratio", p.ratio()},
          {"peer_rel_l2_err", p.rel_l2}};
}

}  // namespace

nlohmann::json case_json(const CaseResult& r) {
  const Case& c = r.spec;
  nlohmann::json j = {{"provider", c.provider},
                      {"kernel", r.kernel},
                      {"weights", to_string(c.source->dtype)},
                      {"compute", to_string(c.compute)},
                      {"packed", c.packed},
                      {"hot", c.hot},
                      {"M", c.M},
                      {"N", c.source->N},
                      {"K", c.source->K},
                      {"threads", c.threads},
                      {"repetitions", r.repetitions},
                      {"ms_median", r.seconds * 1e3},
                      {"gops", r.speed.gops},
                      {"weight_gbs", r.speed.weight_gbs},
                      {"limit_gbs", r.speed.limit_gbs},
                      {"limit_gops", r.speed.limit_gops},
                      {"limit_isa", r.limit_isa},
                      {"fraction_of_limit", r.speed.fraction_of_limit()},
                      {"rel_l2_err", r.rel_l2}};
  if (r.prepare_seconds) j["prepare_share"] = r.prepare_share();
  if (!r.peers.empty()) {
    j["peers"] = nlohmann::json::array();
    for (const PeerResult& p : r.peers) j["peers"].push_back(peer_json(p));
  }
  if (const PeerResult* best = r.best_peer()) j.update(peer_json(*best));
  if (r.baseline && r.baseline->timed()) {
    j["baseline"] = r.baseline->peer;
    j["baseline_ms"] = r.baseline->seconds * 1e3;
    j["baseline_ratio"] = r.baseline->ratio();
    j["baseline_rel_l2_err"] = r.baseline->rel_l2;
  }
  if (!c.source->tensor.empty()) j["tensor"] = c.source->tensor;
  return j;
}

nlohmann::json run_json(const Machine& machine, const std::vector<Limits>& limits,
                        const std::vector<CaseResult>& results, const std::vector<Skipped>& skipped) {
  nlohmann::json cases = nlohmann::json::array();
  nlohmann::json not_run = nlohmann::json::array();
  nlohmann::json failed = nlohmann::json::array();
  for (const Skipped& s : skipped) not_run.push_back({{"name", s.name}, {"reason", s.reason}});
  for (const CaseResult& r : results) {
    if (r.outcome == Outcome::timed) {
      cases.push_back(case_json(r));
    } else {
      nlohmann::json entry = {{"name", r.spec.name()}, {"reason", r.why}};
      (r.outcome == Outcome::skipped ? not_run : failed).push_back(std::move(entry));
    }
  }
  return {{"machine", machine_json(machine, limits)},
          {"cases", std::move(cases)},
          {"skipped", std::move(not_run)},
          {"failed", std::move(failed)}};
}

Status write_json(const std::string& path, const nlohmann::json& json) {
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  return file ? Status{} : Status{StatusCode::io_error, "cannot write " + path};
}

}  // namespace nibblas::bench
