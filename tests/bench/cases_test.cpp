// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace nibblas::bench {
namespace {

RunOptions defaults() {
  RunOptions o;
  o.computes = {Compute::automatic};
  o.providers = {""};
  return o;
}

CpuInfo cpu_without_simd() {
  CpuInfo cpu = host_cpu();
  cpu.features = {};
  return cpu;
}

KernelRegistry scalar_only() { return KernelRegistry::builtin(cpu_without_simd(), {}); }

TEST(Cases, DefaultRunHasEveryFormatAtItsDefaultCompute) {
  const KernelRegistry registry = scalar_only();
  const auto list = make_cases(defaults(), registry, nullptr);
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_TRUE(list->skipped.empty());
  EXPECT_EQ(list->cases.size(), kDTypeCount * 3 * 2) << "three shapes, M = 1 and 16";
  std::set<std::string> names;
  for (const Case& c : list->cases) {
    EXPECT_EQ(c.compute, info(c.source->dtype).default_compute);
    EXPECT_EQ(c.provider, "scalar");
    EXPECT_NE(c.M, 512u) << "only for SIMD kernels";
    EXPECT_TRUE(names.insert(c.name()).second) << "twice: " << c.name();
  }
}

TEST(Cases, SimdKernelsRunManyTokensToo) {
  const KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  const auto list = make_cases(defaults(), registry, nullptr);
  ASSERT_TRUE(list.ok());
  for (const Case& c : list->cases) EXPECT_TRUE(c.M != 512 || c.provider != "scalar") << c.name();
  const auto simd = [](const Case& c) { return c.provider != "scalar" && c.M == 1; };
  const auto many = [](const Case& c) { return c.M == 512; };
  EXPECT_EQ(std::count_if(list->cases.begin(), list->cases.end(), simd),
            std::count_if(list->cases.begin(), list->cases.end(), many));
}

TEST(Cases, AllComputesAreTheLegalOnes) {
  RunOptions o = defaults();
  o.computes = {};
  o.shapes = {{256, 16}};
  o.m = {3};
  const KernelRegistry registry = scalar_only();
  const auto list = make_cases(o, registry, nullptr);
  ASSERT_TRUE(list.ok());
  std::size_t legal = 0;
  for (const DTypeInfo& t : kDTypes) legal += static_cast<std::size_t>(std::count(t.legal, t.legal + 3, true));
  EXPECT_EQ(list->cases.size(), legal);
  EXPECT_TRUE(list->skipped.empty());
}

TEST(Cases, WhatCannotRunIsListedWithItsReason) {
  RunOptions o = defaults();
  o.weights = {DType::f32, DType::q4_k};
  o.computes = {Compute::int8};
  o.shapes = {{96, 16}, {256, 16}};
  o.m = {1};
  const KernelRegistry registry = scalar_only();
  const auto list = make_cases(o, registry, nullptr);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->cases.size(), 1u);
  EXPECT_EQ(list->cases[0].name(), "q4_k/int8/scalar/256x16/M:1/threads:1/packed");
  ASSERT_EQ(list->skipped.size(), 3u);
  for (const Skipped& s : list->skipped) EXPECT_FALSE(s.reason.empty()) << s.name;
}

TEST(Cases, SmallShapesComeFirst) {
  RunOptions o = defaults();
  o.weights = {DType::f32};
  o.shapes = {{512, 512}, {64, 32}};
  o.m = {1};
  const KernelRegistry registry = scalar_only();
  const auto list = make_cases(o, registry, nullptr);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->cases.front().source->K, 64u);
}

TEST(Cases, UnknownAndUnusableProvidersAreErrors) {
  RunOptions o = defaults();
  o.providers = {"mkl"};
  const KernelRegistry registry = scalar_only();
  const Status unknown = make_cases(o, registry, nullptr).status();
  EXPECT_EQ(unknown.code(), StatusCode::not_found);
  EXPECT_NE(unknown.message().find("scalar"), std::string::npos) << unknown.message();
  for (const KernelProvider* p : registry.providers()) {
    if (p->name() == "scalar") continue;
    o.providers = {std::string(p->name())};
    EXPECT_EQ(make_cases(o, registry, nullptr).status().code(), StatusCode::unsupported) << p->name();
  }
}

TEST(Cases, BadConfigurationIsAnError) {
  RegistryConfig config;
  config.max_isa = "avx1024";
  const KernelRegistry registry = KernelRegistry::builtin(host_cpu(), config);
  EXPECT_FALSE(make_cases(defaults(), registry, nullptr).ok());
}

TEST(Cases, FilesBringTheirTensors) {
  const auto file = gguf::File::open(std::string(NIBBLAS_GOLDEN_DIR) + "/models/stories260K-f32.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const KernelRegistry registry = scalar_only();
  RunOptions o = defaults();
  o.gguf = "stories260K-f32.gguf";
  const auto list = make_cases(o, registry, &*file);
  ASSERT_TRUE(list.ok());
  const auto matrix = [](const gguf::Tensor& t) { return t.ne.size() == 2; };
  const auto matrices = static_cast<std::size_t>(std::ranges::count_if(file->tensors(), matrix));
  EXPECT_EQ(list->cases.size(), matrices * 2) << "M = 1 and 16";
  ASSERT_EQ(list->skipped.size(), file->tensors().size() - matrices);
  EXPECT_FALSE(list->skipped.empty()) << "norms are 1-D";
  for (const Skipped& s : list->skipped) EXPECT_EQ(s.reason, "a vector, no matrix") << s.name;
}

}  // namespace
}  // namespace nibblas::bench
