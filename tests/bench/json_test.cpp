// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "made_result.hpp"

namespace nibblas::bench {
namespace {

TEST(Json, CaseHasEveryKeyAndItsValue) {
  const nlohmann::json want = {{"provider", "made"},
                               {"kernel", "matmul.q4_0.int8.made"},
                               {"weights", "q4_0"},
                               {"compute", "int8"},
                               {"packed", true},
                               {"M", 16},
                               {"N", 1024},
                               {"K", 4096},
                               {"threads", 2},
                               {"ms_median", 1.25},
                               {"gops", 200.0},
                               {"weight_gbs", 12.5},
                               {"limit_gbs", 50.0},
                               {"limit_gops", 400.0},
                               {"fraction_of_limit", 0.5},
                               {"rel_l2_err", 0.0075}};
  const nlohmann::json got = case_json(made_result(Outcome::timed));
  for (const auto& [key, value] : want.items()) {
    ASSERT_TRUE(got.contains(key)) << key;
    EXPECT_EQ(got[key], value) << key;
  }
  EXPECT_FALSE(got.contains("tensor"));
}

TEST(Json, PeersAndBaseline) {
  CaseResult r = made_result(Outcome::timed);  // 1.25 ms
  for (const char* key : {"prepare_share", "peers", "peer", "peer_ms", "baseline_ms"}) {
    EXPECT_FALSE(case_json(r).contains(key)) << key;
  }
  r.prepare_seconds = 0.0000625;
  r.peers = {made_peer("slow", 0.005), made_peer("fast", 0.0025), made_peer("absent", 0, "not there")};
  r.baseline = made_peer("scalar", 0.0625);
  const nlohmann::json j = case_json(r);
  EXPECT_DOUBLE_EQ(j["prepare_share"], 0.05);
  EXPECT_EQ(j["peer"], "fast");
  EXPECT_EQ(j["peer_variant"], "made");
  EXPECT_DOUBLE_EQ(j["peer_ms"], 2.5);
  EXPECT_DOUBLE_EQ(j["peer_ratio"], 2);
  EXPECT_DOUBLE_EQ(j["peer_rel_l2_err"], 0.01);
  EXPECT_DOUBLE_EQ(j["baseline_ms"], 62.5);
  EXPECT_DOUBLE_EQ(j["baseline_ratio"], 50);
  ASSERT_EQ(j["peers"].size(), 3u);
  EXPECT_EQ(j["peers"][0]["peer"], "slow");
  EXPECT_DOUBLE_EQ(j["peers"][0]["peer_ratio"], 4);
  EXPECT_EQ(j["peers"][2]["skipped"], "not there");
  EXPECT_FALSE(j["peers"][2].contains("peer_ms"));
  r.peers = {made_peer("absent", 0, "not there")};
  EXPECT_FALSE(case_json(r).contains("peer_ms"));
}

TEST(Json, RunSortsCasesByOutcome) {
  const nlohmann::json j = run_json(
      {}, {Limits{}},
      {made_result(Outcome::timed), made_result(Outcome::failed, "wrong"), made_result(Outcome::skipped, "slow")},
      {{"t", "format"}});
  EXPECT_TRUE(j["machine"].is_object());
  EXPECT_EQ(j["machine"]["limits"].size(), 1u);
  EXPECT_EQ(j["cases"].size(), 1u);
  EXPECT_EQ(j["skipped"].size(), 2u);
  ASSERT_EQ(j["failed"].size(), 1u);
  EXPECT_EQ(j["failed"][0]["reason"], "wrong");
  EXPECT_FALSE(j["failed"][0].contains("gops"));
}

TEST(Json, WritesAFileOrSaysWhyNot) {
  const std::string path = testing::TempDir() + "nibblas_bench_json_test.json";
  ASSERT_TRUE(write_json(path, {{"a", 1}}).ok());
  std::ifstream file(path);
  EXPECT_EQ(nlohmann::json::parse(file)["a"], 1);
  std::filesystem::remove(path);
  const Status s = write_json(testing::TempDir() + "no/such/dir/x.json", {});
  EXPECT_EQ(s.code(), StatusCode::io_error);
  EXPECT_NE(s.message().find("x.json"), std::string::npos);
}

}  // namespace
}  // namespace nibblas::bench
