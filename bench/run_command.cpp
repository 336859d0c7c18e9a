// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cases.hpp"
#include "cli.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "machine.hpp"
#include "report.hpp"
#include "runner.hpp"

namespace nibblas::bench {
namespace {

/// Google Benchmark runs the cases and its reporters see each; the table is ours.
class TableReporter final : public benchmark::BenchmarkReporter {
 public:
  TableReporter(const std::vector<Case>& cases, const std::vector<CaseResult>& results)
      : table_(cases), results_(results) {}
  bool ReportContext(const Context&) override {
    fmt::print("{}\n", table_.header());
    return true;
  }
  void ReportRuns(const std::vector<Run>&) override {
    for (; printed_ < results_.size(); ++printed_) {
      fmt::print("{}\n{}", table_.row(results_[printed_]), table_.rivals(results_[printed_]));
    }
    std::fflush(stdout);
  }

 private:
  Table table_;
  const std::vector<CaseResult>& results_;
  std::size_t printed_ = 0;
};

void report_to(benchmark::State& state, const CaseResult& r) {
  if (r.outcome != Outcome::timed) state.SkipWithError(r.why.c_str());
  for (auto _ : state) state.SetIterationTime(r.seconds);
  if (r.outcome != Outcome::timed) return;
  state.SetLabel(r.kernel);
  state.counters["gops"] = r.speed.gops;
  state.counters["weight_gbs"] = r.speed.weight_gbs;
  state.counters["fraction_of_limit"] = r.speed.fraction_of_limit();
  state.counters["rel_l2_err"] = r.rel_l2;
  if (const PeerResult* best = r.best_peer()) state.counters["peer_ratio"] = best->ratio();
}

/// One iteration is one case: its time is the median of the runner's own repetitions, which rotate through the weights.
std::vector<CaseResult> run_all(const std::vector<Case>& cases, Runner& runner) {
  std::vector<CaseResult> results;
  const Progress progress(cases.size());
  for (const Case& c : cases) {
    benchmark::RegisterBenchmark(c.name().c_str(),
                                 [&](benchmark::State& state) {
                                   progress.show(results.size(), c.name());
                                   results.push_back(runner.run(c));
                                   progress.clear();
                                   report_to(state, results.back());
                                 })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  TableReporter reporter(cases, results);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
  return results;
}

/// Hands Google Benchmark its flags. False, with its message printed, if it does not know one.
bool initialize_benchmark(const std::vector<std::string>& flags) {
  std::vector<std::string> words{"nibblas-bench"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  benchmark::Initialize(&argc, argv.data());
  return !benchmark::ReportUnrecognizedArguments(argc, argv.data());
}

int fail(int code, const Status& status) {
  fmt::print(stderr, "nibblas-bench: {}\n", status.message());
  return code;
}

int exit_code(const std::vector<CaseResult>& results) {
  for (const CaseResult& r : results) {
    if (r.outcome == Outcome::failed) return kExitFailed;
  }
  return 0;
}

}  // namespace

int run_command(const RunOptions& options, KernelRegistry& registry) {
  if (!initialize_benchmark(options.benchmark_flags)) return kExitUsage;
  std::optional<gguf::File> file;
  if (!options.gguf.empty()) {
    Result<gguf::File> opened = gguf::File::open(options.gguf);
    if (!opened) return fail(kExitUsage, opened.status());
    file.emplace(std::move(*opened));
  }
  const Result<CaseList> list = make_cases(options, registry, file ? &*file : nullptr);
  if (!list) return fail(kExitUsage, list.status());
  if (list->cases.empty()) {
    fmt::print(stderr, "{}nibblas-bench: nothing to run\n", summary({}, list->skipped));
    return kExitUsage;
  }

  const Machine machine = this_machine();
  Result<std::vector<Limits>> limits = measure_limits(machine.cpu, options.threads);
  if (!limits) return fail(kExitFailed, limits.status());
  for (const Limits& l : *limits) fmt::print("{}\n", limits_line(l));

  Runner runner(options, registry, *limits, make_rivals(options));
  const std::vector<CaseResult> results = run_all(list->cases, runner);
  fmt::print("{}", summary(results, list->skipped));
  if (!options.json.empty()) {
    const Status s = write_json(options.json, run_json(machine, *limits, results, list->skipped));
    if (!s) return fail(kExitFailed, s);
  }
  return exit_code(results);
}

}  // namespace nibblas::bench
