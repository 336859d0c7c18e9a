// SPDX-License-Identifier: Apache-2.0
#include "cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>
#include <utility>

#include "cases.hpp"
#include "peers/peer.hpp"

namespace nibblas::bench {
namespace {

constexpr std::string_view kBenchmarkPrefix = "--benchmark_";
constexpr std::size_t kMaxThreads = 1024;

std::string dtype_names() {
  std::vector<std::string_view> names;
  for (const DTypeInfo& t : kDTypes) names.push_back(t.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::size_t parse_count(std::string_view text, std::string_view what) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    throw CLI::ValidationError(fmt::format("{} '{}' is not a positive number", what, text));
  }
  return value;
}

std::size_t parse_threads(std::string_view text) {
  const std::size_t n = parse_count(text, "threads");
  if (n > kMaxThreads) throw CLI::ValidationError(fmt::format("threads {} is over {}", n, kMaxThreads));
  return n;
}

void check_seconds(double seconds) {
  if (!(seconds >= 0 && seconds <= 3600)) throw CLI::ValidationError("--time is 0 to 3600 seconds");
}

Shape parse_shape(const std::string& text) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) {
    throw CLI::ValidationError(fmt::format("shape '{}' is not KxN, for example 4096x1024", text));
  }
  return {parse_count(std::string_view(text).substr(0, x), "K of shape"),
          parse_count(std::string_view(text).substr(x + 1), "N of shape")};
}

DType parse_dtype(const std::string& text) {
  if (const auto t = dtype_from_string(text)) return *t;
  throw CLI::ValidationError(fmt::format("unknown weights '{}'; valid: all, {}", text, dtype_names()));
}

Compute parse_compute(const std::string& text) {
  if (const auto c = compute_from_string(text); c && *c != Compute::automatic) return *c;
  throw CLI::ValidationError(fmt::format("unknown compute '{}'; valid: default, all, f32, int8, int8_token", text));
}

void check_peer(const std::string& name) {
  for (const std::string_view known : peer_names()) {
    if (name == known) return;
  }
  throw CLI::ValidationError(fmt::format("unknown peer '{}'; valid: {}", name, fmt::join(peer_names(), ", ")));
}

/// The option values as text; CLI11 fills them, to_options() makes sense of them.
struct RunText {
  std::vector<std::string> shapes, m, weights, computes, providers, threads;
  std::string baseline;
  bool packed = false, zero_copy = false;
  RunOptions out;
};

bool is_word(const std::vector<std::string>& list, std::string_view word) {
  return list.size() == 1 && list.front() == word;
}

RunOptions to_options(RunText& text, const std::vector<std::string>& extras) {
  RunOptions o = std::move(text.out);
  for (const std::string& s : text.shapes) o.shapes.push_back(parse_shape(s));
  for (const std::string& s : text.m) o.m.push_back(parse_count(s, "M"));
  if (!is_word(text.weights, "all")) {
    for (const std::string& s : text.weights) o.weights.push_back(parse_dtype(s));
  }
  if (is_word(text.computes, "all")) {
    o.computes.clear();
  } else if (text.computes.empty() || is_word(text.computes, "default")) {
    o.computes = {Compute::automatic};
  } else {
    for (const std::string& s : text.computes) o.computes.push_back(parse_compute(s));
  }
  o.providers = text.providers.empty() ? std::vector<std::string>{""} : text.providers;
  if (!text.threads.empty()) o.threads.clear();
  for (const std::string& s : text.threads) o.threads.push_back(parse_threads(s));
  o.packed = !text.zero_copy;
  for (const std::string& s : o.peers) check_peer(s);
  if (!text.baseline.empty() && text.baseline != "scalar") {
    throw CLI::ValidationError(fmt::format("unknown baseline '{}'; valid: scalar", text.baseline));
  }
  o.baseline = !text.baseline.empty();
  check_seconds(o.seconds);
  if (!o.gguf.empty() && (!o.shapes.empty() || !text.weights.empty())) {
    throw CLI::ValidationError("--gguf brings its own shapes and weights: leave out --shapes and --weights");
  }
  for (const std::string& s : extras) {
    if (!s.starts_with(kBenchmarkPrefix)) throw CLI::ExtrasError("run", {s});
    o.benchmark_flags.push_back(s);
  }
  return o;
}

/// What a command runs where nothing is named, as its help says it.
struct ProductDefaults {
  std::string shapes, m, weights;
};

ProductDefaults run_defaults() {
  std::vector<std::string> shapes;
  for (const Shape& s : kDefaultShapes) shapes.push_back(fmt::format("{}x{}", s.K, s.N));
  return {fmt::format("{}", fmt::join(shapes, ",")),
          fmt::format("{}, without --gguf {} too", fmt::join(kDefaultM, ","), kDefaultSimdM), "all"};
}

/// One product.
const ProductDefaults kTilingDefaults{"4096x4096", "64", "f32"};

/// An option's help with what is taken when it is not given.
template <class Value>
std::string help(std::string_view what, Value&& otherwise) {
  return fmt::format("{} (default {})", what, std::forward<Value>(otherwise));
}

/// What run and tiling have in common.
void add_product_options(CLI::App& run, RunText& text, const ProductDefaults& defaults) {
  run.add_option("--shapes", text.shapes, help("weights as KxN,...: K inputs, N outputs", defaults.shapes))
      ->delimiter(',');
  run.add_option("--m", text.m, help("tokens (rows of X): 1,4,16,...", defaults.m))->delimiter(',');
  run.add_option("--weights", text.weights, help("all, or a list of: " + dtype_names(), defaults.weights))
      ->delimiter(',');
  run.add_option("--compute", text.computes, "default (the format's own), all, or a list of: f32, int8, int8_token")
      ->delimiter(',');
  run.add_option("--provider", text.providers, "only these providers (see info); default: the registry's choice")
      ->delimiter(',');
  run.add_option("--threads", text.threads, help("thread counts: 1,2,...", fmt::join(text.out.threads, ",")))
      ->delimiter(',');
  CLI::Option* packed = run.add_flag("--packed", text.packed, "weights packed into panels (default)");
  run.add_flag("--zero-copy", text.zero_copy, "weights as they lie in a file")->excludes(packed);
  run.add_flag("--hot", text.out.hot, "one set of weights again and again, instead of more than 600 MB in turn");
  run.add_option("--json", text.out.json, "write the results to this file");
  run.add_option("--time", text.out.seconds, help("seconds of timing a case", text.out.seconds));
}

void add_run_options(CLI::App& run, RunText& text) {
  add_product_options(run, text, run_defaults());
  run.add_option("--gguf", text.out.gguf, "run the tensors of this file");
  run.add_option("--peer", text.out.peers, "time these beside ours: ggml, openblas, onednn (see bench/get-peers.sh)")
      ->delimiter(',');
  run.add_option("--peer-dir", text.out.peer_dir,
                 "folder with ggml's libraries, or above the npm package's node_modules");
  run.add_option("--peer-variant", text.out.peer_variant,
                 "CPU variant of ggml, such as haswell; default: our kernel's");
  run.add_option("--baseline", text.baseline, "scalar: time decoding each row and multiplying it in plain C++, too");
  run.allow_extras();
  run.footer("Google Benchmark's flags work too: --benchmark_filter=REGEX, --benchmark_out=FILE, ...");
}

void add_tiling_options(CLI::App& tiling, RunText& text, TilingOptions& out) {
  add_product_options(tiling, text, kTilingDefaults);
  tiling
      .add_option("--row-block", out.row_block,
                  help("panels of 16 rows, of the plan with a fixed row block", out.row_block))
      ->check(CLI::PositiveNumber);
  tiling.add_flag("--sweep", out.sweep, "row blocks of 1, 2, 4, ... panels, too");
}

TilingOptions to_options(RunText& text, TilingOptions out) {
  if (text.weights.empty()) text.weights = {kTilingDefaults.weights};
  if (text.shapes.empty()) text.shapes = {kTilingDefaults.shapes};
  if (text.m.empty()) text.m = {kTilingDefaults.m};
  out.run = to_options(text, std::vector<std::string>{});
  return out;
}

struct LayerText {
  std::vector<std::string> weights{"f32", "q8_0", "q4_0", "q4_k"}, m{"1", "16", "128"}, threads{"1"};
  LayerOptions out;
};

void add_layer_options(CLI::App& layer, LayerText& text) {
  LayerOptions& o = text.out;
  layer.add_option("--hidden", o.hidden, help("width of the model", o.hidden))->check(CLI::PositiveNumber);
  layer.add_option("--ffn", o.ffn, help("width inside the SwiGLU block", o.ffn))->check(CLI::PositiveNumber);
  layer.add_option("--heads", o.heads, help("attention heads", o.heads))->check(CLI::PositiveNumber);
  layer.add_option("--kv-heads", o.kv_heads, help("heads of K and V", o.kv_heads))->check(CLI::PositiveNumber);
  layer.add_option("--weights", text.weights, help("weights of all matrices", fmt::join(text.weights, ",")))
      ->delimiter(',');
  layer.add_option("--m", text.m, help("tokens", fmt::join(text.m, ",")))->delimiter(',');
  layer.add_option("--threads", text.threads, help("thread counts: 1,2,...", fmt::join(text.threads, ",")))
      ->delimiter(',');
  layer.add_option("--provider", o.provider, "only this one (see info); default: the registry's choice");
  layer.add_flag("--hot", o.hot, "one set of weights again and again, instead of more than 600 MB in turn");
  layer.add_option("--json", o.json, "write the results to this file");
  layer.add_option("--time", o.seconds, help("seconds of timing a case", o.seconds));
}

LayerOptions to_options(const LayerText& text) {
  LayerOptions o = text.out;
  for (const std::string& s : text.weights) o.weights.push_back(parse_dtype(s));
  for (const std::string& s : text.m) o.m.push_back(parse_count(s, "M"));
  for (const std::string& s : text.threads) o.threads.push_back(parse_threads(s));
  check_seconds(o.seconds);
  if (o.hidden % o.heads != 0 || o.kv_heads > o.heads) {
    throw CLI::ValidationError(fmt::format("hidden {} has no {} heads and {} kv heads", o.hidden, o.heads, o.kv_heads));
  }
  return o;
}

bool is_command(const CLI::App& app, std::string_view name) {
  return !app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; }).empty();
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App app{"nibblas-bench: products with quantised weights, verified, timed and held against the machine's limits"};
  app.name("nibblas-bench");
  app.require_subcommand(1);
  InfoOptions info;
  LimitsOptions limits;
  RunText text;
  RunText tiling_text;
  TilingOptions tiling;
  LayerText layer;
  CLI::App* info_app = app.add_subcommand("info", "this machine, the providers, and which kernel runs what");
  info_app->add_flag("--verbose", info.verbose, "for each kernel chosen, why every other one lost");
  info_app->add_flag("--matrix", info.matrix, "only the table of formats and built-in providers, in Markdown");
  CLI::App* limits_app = app.add_subcommand("limits", "measure memory bandwidth and arithmetic peaks");
  limits_app->add_option("--json", limits.json, "write the results to this file");
  CLI::App* run_app = app.add_subcommand("run", "verify and time products");
  add_run_options(*run_app, text);
  CLI::App* tiling_app = app.add_subcommand("tiling", "the same product by several tile plans");
  add_tiling_options(*tiling_app, tiling_text, tiling);
  CLI::App* layer_app =
      app.add_subcommand("layer", "the products of a transformer layer, sharing prepared activations");
  add_layer_options(*layer_app, layer);
  try {
    if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
      throw CLI::ValidationError(fmt::format("unknown command '{}'; valid: info, limits, run, tiling, layer", argv[1]));
    }
    app.parse(argc, argv);
    if (info_app->parsed()) return info;
    if (limits_app->parsed()) return limits;
    if (layer_app->parsed()) return to_options(layer);
    if (tiling_app->parsed()) return to_options(tiling_text, tiling);
    return to_options(text, run_app->remaining());
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = &app;
    for (const CLI::App* sub : app.get_subcommands()) asked = sub;
    return Exit{0, asked->help()};
  } catch (const CLI::Error& e) {
    return Exit{kExitUsage,
                fmt::format("nibblas-bench: {}\nTry: nibblas-bench --help, nibblas-bench run --help\n", e.what())};
  }
}

}  // namespace nibblas::bench
