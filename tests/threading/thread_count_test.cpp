// SPDX-License-Identifier: Apache-2.0
#include "thread_count.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "nibblas/executor.hpp"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace nibblas::test {
namespace {

constexpr std::size_t kNone = 0;

TEST(CgroupQuota, CpuMax) {
  struct Row {
    const char* text;
    std::size_t cpus;
  };
  constexpr Row rows[] = {
      {"100000 100000\n", 1},
      {"150000 100000\n", 1},
      {"199999 100000\n", 1},
      {"200000 100000\n", 2},
      {"200000 100000", 2},
      {" 400000   100000 \n", 4},
      {"50000 100000\n", 1},
      {"1000 1000000\n", 1},
      {"6400000 100000\n", 64},
      {"max 100000\n", kNone},
      {"", kNone},
      {"\n", kNone},
      {"max", kNone},
      {"max\n", kNone},
      {"200000", kNone},
      {"200000 \n", kNone},
      {"200000 0\n", kNone},
      {"0 100000\n", kNone},
      {"-1 100000\n", kNone},
      {"200000 -100000\n", kNone},
      {"200000 100000 1\n", kNone},
      {"2e5 100000\n", kNone},
      {"0x30d40 100000\n", kNone},
      {"200000us 100000\n", kNone},
      {"nonsense\n", kNone},
      {"200000\n100000\n", kNone},
      {"99999999999999999999999 100000\n", kNone},
      {"200000 99999999999999999999999\n", kNone},
  };
  for (const Row& row : rows) EXPECT_EQ(parse_cpu_max(row.text).value_or(kNone), row.cpus) << '"' << row.text << '"';
  EXPECT_EQ(parse_cpu_max(std::string_view("200000 1000\0"
                                           "00",
                                           14)),
            std::nullopt);
}

TEST(CgroupQuota, Cfs) {
  struct Row {
    const char* quota;
    const char* period;
    std::size_t cpus;
  };
  constexpr Row rows[] = {{"200000\n", "100000\n", 2}, {"250000\n", "100000\n", 2}, {"10000\n", "100000\n", 1},
                          {"-1\n", "100000\n", kNone}, {"0\n", "100000\n", kNone},  {"200000\n", "0\n", kNone},
                          {"", "100000\n", kNone},     {"200000\n", "", kNone},     {"max\n", "100000\n", kNone}};
  for (const Row& row : rows) {
    EXPECT_EQ(parse_cfs_quota(row.quota, row.period).value_or(kNone), row.cpus) << row.quota << row.period;
  }
}

/// A directory that stands for "/".
class CgroupTree : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) / (std::string("nibblas_cgroup_") + info->name());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void mounts(const std::string& text) { write("proc/self/mountinfo", text); }
  void cgroup(const std::string& text) { write("proc/self/cgroup", text); }
  std::size_t limit() const { return cgroup_cpu_limit(root_.string()).value_or(kNone); }

  std::filesystem::path root_;
};

constexpr const char* kV2Mount =
    "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kV1Mounts =
    "33 30 0:28 / /sys/fs/cgroup/cpuset rw shared:14 - cgroup cgroup rw,cpuset\n"
    "34 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct\n";

TEST_F(CgroupTree, NothingThere) { EXPECT_EQ(limit(), kNone); }

TEST_F(CgroupTree, V2OwnGroup) {
  mounts(kV2Mount);
  cgroup("0::/user.slice/app\n");
  write("sys/fs/cgroup/user.slice/app/cpu.max", "300000 100000\n");
  EXPECT_EQ(limit(), 3u);
}

TEST_F(CgroupTree, V2SmallestOnTheWayUp) {
  mounts(kV2Mount);
  cgroup("0::/a/b/c\n");
  write("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 8u);
  write("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(limit(), 2u);
  write("sys/fs/cgroup/cpu.max", "100000 50000\n");
  EXPECT_EQ(limit(), 2u);
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1u);
  write("sys/fs/cgroup/a/b/c/d/cpu.max", "100 100\n");  // below: not ours
  write("sys/fs/cgroup/x/cpu.max", "100 100\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 2u);
}

TEST_F(CgroupTree, V2InANamespace) {
  mounts(kV2Mount);
  cgroup("0::/\n");
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 4u);
}

TEST_F(CgroupTree, V2MalformedIsIgnored) {
  mounts(kV2Mount);
  cgroup("0::/a\n");
  write("sys/fs/cgroup/a/cpu.max", "bogus\n");
  EXPECT_EQ(limit(), kNone);
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 4u);
}

TEST_F(CgroupTree, V1) {
  mounts(kV1Mounts);
  cgroup("12:cpuset:/other\n4:cpu,cpuacct:/docker/abc\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), kNone);
  write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "350000\n");
  EXPECT_EQ(limit(), kNone);  // no period
  write("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 3u);
  write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 2u);
  write("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");  // not the cpu controller
  write("sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 2u);
}

TEST_F(CgroupTree, V1ContainerThatSeesTheHostsPath) {
  mounts("34 30 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  cgroup("4:cpu:/docker/abc\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 2u);
  cgroup("4:cpu:/docker/abc/inner\n");
  write("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000\n");
  write("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 1u);
  cgroup("4:cpu:/docker/abcdef\n");  // a longer name is another cgroup
  EXPECT_EQ(limit(), 2u);
}

TEST_F(CgroupTree, Hybrid) {
  mounts(std::string(kV1Mounts) + "35 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  cgroup("4:cpu,cpuacct:/v1\n1:name=systemd:/other\n0::/v2\n");
  write("sys/fs/cgroup/unified/v2/cpu.max", "500000 100000\n");
  EXPECT_EQ(limit(), 5u);
  write("sys/fs/cgroup/cpu,cpuacct/v1/cpu.cfs_quota_us", "300000\n");
  write("sys/fs/cgroup/cpu,cpuacct/v1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 3u);
}

TEST_F(CgroupTree, OutsideOfTheNamespace) {
  mounts(kV2Mount);
  cgroup("0::/../../secret\n");
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  write("sys/secret/cpu.max", "100000 100000\n");
  EXPECT_EQ(limit(), 4u);
}

TEST_F(CgroupTree, MalformedProcFiles) {
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  cgroup("0::/\n");
  for (const char* text : {"", "\n", "- - - -", "30 22 0:26 / /sys/fs/cgroup rw", "a b c d e f -",
                           "a b c d e f - cgroup2", "a b c d - cgroup2 x rw"}) {
    mounts(text);
    EXPECT_EQ(limit(), kNone) << text;
  }
  mounts(kV2Mount);
  for (const char* text : {"", ":", "0:", "0", "x\n:\n::", "0::", "0::nonsense", "0::a/b"}) {
    cgroup(text);
    EXPECT_EQ(limit(), 4u) << text;
  }
}

TEST(DefaultThreadCount, IsSane) {
  const std::size_t count = default_thread_count();
  EXPECT_GE(count, 1u);
  EXPECT_LE(count, std::max(1u, std::thread::hardware_concurrency()));
}

#if defined(__linux__)
TEST(DefaultThreadCount, FollowsTheAffinity) {
  // On a thread of its own, so that the mask ends with it.
  std::size_t count = 0;
  std::thread([&] {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
      if (CPU_COUNT(&one) == 1) break;
    }
    if (sched_setaffinity(0, sizeof one, &one) == 0) count = default_thread_count();
  }).join();
  EXPECT_EQ(count, 1u);
}
#endif

}  // namespace
}  // namespace nibblas::test
