// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fakes.hpp"

namespace nibblas {
namespace {

using namespace fakes;

TEST(RegistryThreads, ReadersSeeOnlyWholeStates) {
  const Provider base("scalar", 0, {tiled(kF32, "base.f32"), tiled(kQ4, "base.q4")});
  const Provider fast("fast", 10, {tiled(kF32, "fast.f32"), tiled(kQ4, "fast.q4")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(base).ok());

  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> started = 0;
  const auto read = [&] {
    started.fetch_add(1);
    while (!stop.load()) {
      const Kernel* f32 = r.select({.key = kF32});
      wrong += f32 != &base.kernels()[0] && f32 != &fast.kernels()[0];
      const Kernel* q4 = r.select({.key = kQ4, .allow_tolerance = true});
      wrong += q4 != &base.kernels()[1] && q4 != &fast.kernels()[1];
      const Resolution res = r.resolve({.key = kQ4});
      wrong += !res.status.ok() || res.trail.size() != (res.provider == "fast" ? 2u : 1u);
      wrong += r.find("SCALAR") != &base;
      wrong += !r.config_status().ok();
      wrong += r.usable(base).usable != true;
      wrong += r.providers().empty();
    }
  };
  std::thread readers[] = {std::thread(read), std::thread(read), std::thread(read)};
  while (started.load() < 3) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(r.add(fast).ok());
    EXPECT_EQ(r.select({.key = kF32}), &fast.kernels()[0]);
    EXPECT_TRUE(r.remove("fast").ok());
    EXPECT_EQ(r.select({.key = kF32}), &base.kernels()[0]);
  }
  stop = true;
  for (std::thread& t : readers) {
    t.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(RegistryThreads, WritersAreSerialised) {
  const Provider a("a", 1, {tiled(kF32, "a.f32")});
  const Provider b("b", 2, {tiled(kF32, "b.f32")});
  const Provider c("c", 3, {tiled(kQ4, "c.q4")});
  KernelRegistry r(cpu());
  ASSERT_TRUE(r.add(c).ok());
  std::atomic<int> wrong = 0;
  const auto write = [&r, &wrong](const Provider& p) {
    for (int i = 0; i < 200; ++i) {
      wrong += !r.add(p).ok();
      wrong += r.find(p.name()) != &p;
      wrong += !r.remove(p.name()).ok();
      wrong += r.find(p.name()) != nullptr;
    }
    wrong += !r.add(p).ok();
  };
  std::thread ta(write, std::cref(a));
  std::thread tb(write, std::cref(b));
  ta.join();
  tb.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(r.providers(), (std::vector<const KernelProvider*>{&c, &b, &a}));
}

TEST(RegistryThreads, TheSharedRegistryIsOneForAll) {
  KernelRegistry* seen[4] = {};
  std::thread threads[4];
  for (int i = 0; i < 4; ++i) {
    threads[i] = std::thread([&seen, i] { seen[i] = &KernelRegistry::shared(); });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  for (const KernelRegistry* r : seen) {
    EXPECT_EQ(r, seen[0]);
  }
}

}  // namespace
}  // namespace nibblas
