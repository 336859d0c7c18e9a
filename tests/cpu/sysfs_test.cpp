// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cpu_detect.hpp"

namespace nibblas {
namespace {

namespace fs = std::filesystem;

class SysfsCaches : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("nibblas_caches_" + std::to_string(::getpid()));
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void cache(int index, const char* level, const char* type, const char* size) {
    const fs::path d = dir_ / ("index" + std::to_string(index));
    fs::create_directories(d);
    std::ofstream(d / "level") << level << '\n';
    std::ofstream(d / "type") << type << '\n';
    if (size != nullptr) {
      std::ofstream(d / "size") << size << '\n';
    }
  }
  CacheInfo read() const { return caches_from_sysfs(dir_.c_str()); }

  fs::path dir_;
};

TEST_F(SysfsCaches, DataAndUnifiedCountInstructionDoesNot) {
  cache(0, "1", "Data", "48K");
  cache(1, "1", "Instruction", "32K");
  cache(2, "2", "Unified", "2048K");
  cache(3, "3", "Unified", "33M");
  const CacheInfo c = read();
  EXPECT_EQ(c.l1d, 48u * 1024);
  EXPECT_EQ(c.l2, 2048u * 1024);
  EXPECT_EQ(c.l3, 33u * 1024 * 1024);
}

TEST_F(SysfsCaches, BytesWithoutAUnit) {
  cache(0, "1", "Data", "65536");
  EXPECT_EQ(read().l1d, 65536u);
}

TEST_F(SysfsCaches, NonsenseIsUnknown) {
  cache(0, "1", "Data", "0K");
  cache(1, "2", "Unified", "many");
  cache(2, "3", "Unified", "99999999999999999999M");
  cache(3, "9", "Unified", "64K");
  const CacheInfo c = read();
  EXPECT_EQ(c.l1d, 0u);
  EXPECT_EQ(c.l2, 0u);
  EXPECT_EQ(c.l3, 0u);
}

TEST_F(SysfsCaches, AMissingFileHidesOnlyItsOwnCache) {
  cache(0, "1", "Data", nullptr);
  cache(1, "2", "Unified", "512K");
  EXPECT_EQ(read().l1d, 0u);
  EXPECT_EQ(read().l2, 512u * 1024);
}

TEST_F(SysfsCaches, NoDirectoryNoCaches) {
  const CacheInfo c = caches_from_sysfs((dir_ / "none").c_str());
  EXPECT_EQ(c.l1d + c.l2 + c.l3, 0u);
  EXPECT_EQ(caches_from_sysfs(std::string(4000, 'x').c_str()).l1d, 0u);
}

}  // namespace
}  // namespace nibblas
