// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <gtest/gtest.h>

#include "made_result.hpp"

namespace nibblas::bench {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, RowHasItsNumbersUnderTheirHeadings) {
  const CaseResult r = made_result(Outcome::timed);
  const Table table({r.spec});
  const std::string row = table.row(r);
  const std::string header = table.header();
  for (const char* part : {"made", "matmul.q4_0.int8.made", "4096x1024", "packed", "1.2500", "200.0", "12.50", "50.0%",
                           "avx2 int8", "7.50e-03"}) {
    EXPECT_TRUE(contains(row, part)) << part << " in " << row;
  }
  EXPECT_EQ(header.size(), row.size());
  EXPECT_EQ(header.find("GOP/s") + 5, row.find("200.0") + 5);
  EXPECT_FALSE(contains(header, "tensor"));
}

TEST(Report, PeersStandUnderTheMilliseconds) {
  CaseResult r = made_result(Outcome::timed);  // 1.25 ms
  const Table table({r.spec});
  EXPECT_EQ(table.rivals(r), "");
  EXPECT_TRUE(contains(table.row(r), " -"));
  r.prepare_seconds = 0.0000625;
  EXPECT_TRUE(contains(table.row(r), "5.0%"));
  r.peers = {made_peer("other", 0.0025), made_peer("absent", 0, "not there")};
  r.baseline = made_peer("scalar", 0.0625);
  const std::string text = table.rivals(r);
  EXPECT_EQ(text.find("2.5000"), table.row(r).find("1.2500")) << text;
  EXPECT_TRUE(contains(text, "  other (made)"));
  EXPECT_TRUE(contains(text, " 2.00 x our time, rel L2 1.00e-02\n")) << text;
  EXPECT_TRUE(contains(text, "  absent: skipped: not there\n")) << text;
  EXPECT_TRUE(contains(text, " 50.00 x our time")) << text;
}

TEST(Report, SaysWhichLimitIsNear) {
  CaseResult r = made_result(Outcome::timed);
  r.speed.weight_gbs = 45;
  const Table table({r.spec});
  EXPECT_TRUE(contains(table.row(r), "90.0%  DRAM "));
  r.spec.hot = true;
  EXPECT_TRUE(contains(table.row(r), "DRAM (weights hot)"));
}

TEST(Report, FailedAndSkippedCasesShowNoSpeed) {
  for (const Outcome outcome : {Outcome::failed, Outcome::skipped}) {
    const CaseResult r = made_result(outcome, "because");
    const std::string row = Table({r.spec}).row(r);
    EXPECT_TRUE(contains(row, outcome == Outcome::failed ? "FAILED: because" : "skipped: because")) << row;
    EXPECT_FALSE(contains(row, "200.0") || contains(row, "12.50") || contains(row, "%")) << row;
  }
}

TEST(Report, SummaryDoubtsWhatIsBeyondTheLimit) {
  CaseResult r = made_result(Outcome::timed);
  EXPECT_FALSE(contains(summary({r}, {}), "beyond its limit"));
  r.speed.weight_gbs = 1.2 * r.speed.limit_gbs;
  EXPECT_TRUE(contains(summary({r}, {}), "beyond its limit"));
  r.spec.hot = true;  // weights in L2 are read faster than memory gives
  EXPECT_FALSE(contains(summary({r}, {}), "beyond its limit"));
}

TEST(Report, SummaryCountsAndNames) {
  const std::string text = summary(
      {made_result(Outcome::timed), made_result(Outcome::failed, "wrong"), made_result(Outcome::skipped, "slow")},
      {{"tensor.x", "no such format"}});
  EXPECT_TRUE(contains(text, "skipped tensor.x: no such format\n")) << text;
  EXPECT_TRUE(contains(text, "FAILED q4_0/int8/made/4096x1024/M:16/threads:2/packed: wrong\n")) << text;
  EXPECT_TRUE(contains(text, "1 verified and timed, 2 skipped, 1 failed\n")) << text;
}

}  // namespace
}  // namespace nibblas::bench
