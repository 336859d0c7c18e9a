// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/kernels.hpp"

// Which providers this build has and which of them the rest of the suite runs. One that is compiled in but cannot run
// here shows up as a skipped test with its reason, never as silence.

namespace nibblas::test {
namespace {

class Provider : public testing::TestWithParam<const KernelProvider*> {};

TEST_P(Provider, RunsHere) {
  const Availability usable = registry().usable(*GetParam());
  if (!usable.usable) GTEST_SKIP() << "not run: " << GetParam()->name() << ": " << usable.reason;
  const std::vector<Candidate> all = all_kernels();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Candidate& c) { return c.provider == GetParam(); }));
}

INSTANTIATE_TEST_SUITE_P(Built, Provider, testing::ValuesIn(registry().providers()),
                         [](const auto& p) { return std::string(p.param->name()); });

TEST(Providers, AreTheOnesOfThisBuild) {
  std::vector<std::string> built;
  std::istringstream list(NIBBLAS_TEST_ISAS);
  for (std::string name; std::getline(list, name, ',');) built.push_back(name);
  std::vector<std::string> registered;
  for (const KernelProvider* p : registry().providers()) registered.emplace_back(p->name());
  std::sort(built.begin(), built.end());
  std::sort(registered.begin(), registered.end());
  EXPECT_EQ(registered, built);
  EXPECT_NE(std::find(built.begin(), built.end(), "scalar"), built.end());
}

TEST(Providers, ScalarServesEveryLegalKey) {
  EXPECT_FALSE(all_keys().empty());
  for (const Key& key : all_keys()) {
    const std::vector<Candidate> kernels = kernels_of(key);
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), [](const Candidate& c) {
      return c.provider->name() == "scalar" && c.runs(1) && c.runs(2);
    })) << key.name();
  }
}

TEST(Providers, EveryKernelCanBeReached) {
  for (const Candidate& c : all_kernels()) EXPECT_TRUE(c.runs(1) || c.runs(2)) << c.kernel->name;
}

}  // namespace
}  // namespace nibblas::test
