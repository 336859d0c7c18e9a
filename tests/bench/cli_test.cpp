// SPDX-License-Identifier: Apache-2.0
#include "cli.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nibblas::bench {
namespace {

Command parse(std::vector<const char*> words) {
  words.insert(words.begin(), "nibblas-bench");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

RunOptions run(std::vector<const char*> words) {
  words.insert(words.begin(), "run");
  const Command c = parse(words);
  const auto* options = std::get_if<RunOptions>(&c);
  EXPECT_NE(options, nullptr) << std::get<Exit>(c).message;
  return options != nullptr ? *options : RunOptions{};
}

std::string error(const std::vector<const char*>& words) {
  const Command c = parse(words);
  const auto* exit = std::get_if<Exit>(&c);
  if (exit == nullptr) return "accepted";
  EXPECT_EQ(exit->code, kExitUsage);
  return exit->message;
}

TEST(Cli, Defaults) {
  const RunOptions o = run({});
  EXPECT_TRUE(o.is_default_run());
  EXPECT_TRUE(o.packed);
  EXPECT_FALSE(o.hot);
  EXPECT_EQ(o.threads, std::vector<std::size_t>{1});
  EXPECT_EQ(o.computes, std::vector<Compute>{Compute::automatic});
  EXPECT_EQ(o.providers, std::vector<std::string>{""});
}

TEST(Cli, Everything) {
  const RunOptions o = run({"--shapes", "4096x1024,64x32", "--m", "1,4", "--weights", "q4_0,f32", "--compute",
                            "f32,int8", "--provider", "scalar,avx2", "--threads", "1,2", "--zero-copy", "--hot",
                            "--json", "out.json", "--time", "0.25", "--benchmark_filter=q4"});
  EXPECT_EQ(o.shapes, (std::vector<Shape>{{4096, 1024}, {64, 32}}));
  EXPECT_EQ(o.shapes[0].K, 4096u);
  EXPECT_EQ(o.m, (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(o.weights, (std::vector<DType>{DType::q4_0, DType::f32}));
  EXPECT_EQ(o.computes, (std::vector<Compute>{Compute::f32, Compute::int8}));
  EXPECT_EQ(o.providers, (std::vector<std::string>{"scalar", "avx2"}));
  EXPECT_EQ(o.threads, (std::vector<std::size_t>{1, 2}));
  EXPECT_FALSE(o.packed);
  EXPECT_TRUE(o.hot);
  EXPECT_EQ(o.json, "out.json");
  EXPECT_EQ(o.seconds, 0.25);
  EXPECT_EQ(o.benchmark_flags, std::vector<std::string>{"--benchmark_filter=q4"});
  EXPECT_FALSE(o.is_default_run());
}

TEST(Cli, Peers) {
  EXPECT_TRUE(run({}).peers.empty());
  EXPECT_FALSE(run({}).baseline);
  const RunOptions o =
      run({"--peer", "ggml,onednn", "--peer-dir", "there", "--peer-variant", "haswell", "--baseline", "scalar"});
  EXPECT_EQ(o.peers, (std::vector<std::string>{"ggml", "onednn"}));
  EXPECT_EQ(o.peer_dir, "there");
  EXPECT_EQ(o.peer_variant, "haswell");
  EXPECT_TRUE(o.baseline);
}

TEST(Cli, Tiling) {
  const auto plain = std::get<TilingOptions>(parse({"tiling"}));
  EXPECT_EQ(plain.run.weights, std::vector<DType>{DType::f32});
  EXPECT_EQ(plain.run.shapes, (std::vector<Shape>{{4096, 4096}}));
  EXPECT_EQ(plain.run.m, std::vector<std::size_t>{64});
  EXPECT_EQ(plain.run.threads, std::vector<std::size_t>{1});
  EXPECT_EQ(plain.row_block, 8u);
  EXPECT_FALSE(plain.sweep);
  const auto o = std::get<TilingOptions>(
      parse({"tiling", "--weights", "q4_0", "--compute", "f32", "--shapes", "64x32", "--m", "3,4", "--provider", "avx2",
             "--threads", "2", "--sweep", "--row-block", "5", "--json", "out.json"}));
  EXPECT_EQ(o.run.weights, std::vector<DType>{DType::q4_0});
  EXPECT_EQ(o.run.computes, std::vector<Compute>{Compute::f32});
  EXPECT_EQ(o.run.shapes, (std::vector<Shape>{{64, 32}}));
  EXPECT_EQ(o.run.m, (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(o.run.providers, std::vector<std::string>{"avx2"});
  EXPECT_EQ(o.run.threads, std::vector<std::size_t>{2});
  EXPECT_EQ(o.run.json, "out.json");
  EXPECT_EQ(o.row_block, 5u);
  EXPECT_TRUE(o.sweep);
}

TEST(Cli, Layer) {
  const auto plain = std::get<LayerOptions>(parse({"layer"}));
  EXPECT_EQ(plain.weights, (std::vector<DType>{DType::f32, DType::q8_0, DType::q4_0, DType::q4_k}));
  EXPECT_EQ(plain.m, (std::vector<std::size_t>{1, 16, 128}));
  EXPECT_EQ(plain.threads, std::vector<std::size_t>{1});
  EXPECT_EQ(plain.hidden, 4096u);
  EXPECT_EQ(plain.ffn, 11008u);
  const auto o =
      std::get<LayerOptions>(parse({"layer",  "--hidden",  "64",     "--ffn",  "96",     "--heads",   "4", "--kv-heads",
                                    "2",      "--weights", "q8_0",   "--m",    "2,3",    "--threads", "2", "--provider",
                                    "scalar", "--hot",     "--json", "x.json", "--time", "0"}));
  EXPECT_EQ(o.hidden, 64u);
  EXPECT_EQ(o.ffn, 96u);
  EXPECT_EQ(o.heads, 4u);
  EXPECT_EQ(o.kv_heads, 2u);
  EXPECT_EQ(o.weights, std::vector<DType>{DType::q8_0});
  EXPECT_EQ(o.m, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(o.threads, std::vector<std::size_t>{2});
  EXPECT_EQ(o.provider, "scalar");
  EXPECT_TRUE(o.hot);
  EXPECT_EQ(o.seconds, 0);
  EXPECT_EQ(o.json, "x.json");
}

TEST(Cli, AllMeansAll) {
  EXPECT_TRUE(run({"--weights", "all"}).weights.empty());
  EXPECT_TRUE(run({"--compute", "all"}).computes.empty());
}

TEST(Cli, OtherCommands) {
  EXPECT_TRUE(std::get<InfoOptions>(parse({"info", "--verbose"})).verbose);
  EXPECT_EQ(std::get<LimitsOptions>(parse({"limits", "--json", "x"})).json, "x");
}

TEST(Cli, HelpIsNoError) {
  const Command c = parse({"run", "--help"});
  EXPECT_EQ(std::get<Exit>(c).code, 0);
  EXPECT_NE(std::get<Exit>(c).message.find("--zero-copy"), std::string::npos);
}

TEST(Cli, ErrorsNameTheValueAndTheValidOnes) {
  const struct {
    std::vector<const char*> words;
    const char* says;
  } cases[] = {
      {{}, "A subcommand is required"},
      {{"fly"}, "unknown command 'fly'; valid: info, limits, run, tiling, layer"},
      {{"run", "--shapes", "4096"}, "'4096' is not KxN"},
      {{"run", "--shapes", "0x16"}, "'0' is not a positive number"},
      {{"run", "--shapes", "16x1k"}, "'1k' is not a positive number"},
      {{"run", "--m", "-1"}, "'-1' is not a positive number"},
      {{"run", "--m", "1,99999999999999999999"}, "'99999999999999999999' is not"},
      {{"run", "--weights", "q3_k"}, "unknown weights 'q3_k'; valid: all, f32, f16, bf16, q8_0"},
      {{"run", "--compute", "int4"}, "unknown compute 'int4'; valid: default, all, f32, int8, int8_token"},
      {{"run", "--threads", "0"}, "'0' is not a positive number"},
      {{"run", "--threads", "5000"}, "5000 is over 1024"},
      {{"run", "--packed", "--zero-copy"}, "--zero-copy"},
      {{"run", "--time", "-1"}, "--time"},
      {{"run", "--time", "soon"}, "soon"},
      {{"run", "--gguf", "m.gguf", "--shapes", "32x32"}, "--gguf brings its own"},
      {{"run", "--peer", "ggml,mkl"}, "unknown peer 'mkl'; valid: ggml, openblas, onednn"},
      {{"run", "--baseline", "fast"}, "unknown baseline 'fast'; valid: scalar"},
      {{"layer", "--hidden", "100"}, "hidden 100 has no 32 heads and 8 kv heads"},
      {{"layer", "--heads", "4"}, "has no 4 heads and 8 kv heads"},
      {{"layer", "--ffn", "0"}, "--ffn"},
      {{"layer", "--weights", "q3_k"}, "unknown weights 'q3_k'"},
      {{"layer", "--time", "-1"}, "--time"},
      {{"tiling", "--row-block", "0"}, "--row-block"},
      {{"tiling", "--weights", "q3_k"}, "unknown weights 'q3_k'"},
      {{"tiling", "--peer", "ggml"}, "--peer"},
      {{"run", "--nonsense"}, "--nonsense"},
      {{"run", "leftover"}, "leftover"},
      {{"info", "--benchmark_filter=x"}, "--benchmark_filter=x"},
  };
  for (const auto& c : cases) EXPECT_NE(error(c.words).find(c.says), std::string::npos) << error(c.words);
}

}  // namespace
}  // namespace nibblas::bench
