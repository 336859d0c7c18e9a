// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "fakes.hpp"

// Counts allocations, and makes the n-th one fail.

namespace {
thread_local long allocations = 0;
thread_local long fail_at = -1;  ///< -1: never

void* allocate_or_null(std::size_t bytes) noexcept {
  if (fail_at >= 0 && allocations >= fail_at) {
    return nullptr;
  }
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocate(std::size_t bytes) {
  if (void* p = allocate_or_null(bytes)) {
    return p;
  }
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }

namespace nibblas {
namespace {

using namespace fakes;

constexpr long kPlenty = 10000;

/// Runs `call` with ever more memory until it succeeds; returns how often it failed before. Nothing may escape it.
template <class Call>
long failures_until_ok(Call call) {
  for (long n = 0; n < kPlenty; ++n) {
    allocations = 0;
    fail_at = n;
    bool ok = false;
    try {
      ok = call();
    } catch (...) {
      fail_at = -1;
      ADD_FAILURE() << "threw when allocation " << n << " failed";
      return n;
    }
    fail_at = -1;
    if (ok) {
      return n;
    }
  }
  ADD_FAILURE() << "never succeeded";
  return kPlenty;
}

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    EXPECT_TRUE(r_.add(scalar_).ok());
    EXPECT_TRUE(r_.add(named_).ok());
  }
  const Provider scalar_{"scalar", 0, {tiled(kF32, "a.kernel.name.too.long.for.small.strings"), tiled(kQ4, "s.q4")}};
  const Provider named_{"a-provider-name-too-long-for-small-strings", 5, {tolerant(tiled(kF32, "n.f32"))}};
  KernelRegistry r_{cpu(), {{}, {}, "s.q4"}};
};

TEST_F(MemoryTest, SelectDoesNotAllocate) {
  const std::vector<KernelKey> keys = all_keys();
  allocations = 0;
  for (const KernelKey& key : keys) {
    (void)r_.select({.key = key});
    (void)r_.select({.key = key, .provider = "A-provider-name-too-long-for-small-strings", .allow_tolerance = true});
    (void)r_.select({.key = key, .provider = "unknown", .layout_id = 0x1234});
  }
  (void)r_.find("scalar");
  (void)r_.config_status();
  EXPECT_EQ(allocations, 0);
}

TEST_F(MemoryTest, AddAndRemoveFailWithAStatusAndChangeNothing) {
  const Provider late("late", 50, {tiled(kF32, "late.f32")});
  const auto expect_late = [&](bool present) {
    EXPECT_EQ(r_.find("late"), present ? &late : nullptr);
    EXPECT_EQ(r_.select({.key = kF32}), present ? &late.kernels()[0] : &scalar_.kernels()[0]);
    EXPECT_TRUE(r_.config_status().ok());
  };
  for (int i = 0; i < 8; ++i) {  // through each growth of what the registry keeps
    const long adding = failures_until_ok([&] {
      const Status s = r_.add(late);
      EXPECT_TRUE(s.ok() || s.code() == StatusCode::out_of_memory);
      expect_late(s.ok());
      return s.ok();
    });
    const long removing = failures_until_ok([&] {
      const Status s = r_.remove("late");
      EXPECT_TRUE(s.ok() || s.code() == StatusCode::out_of_memory);
      expect_late(!s.ok());
      return s.ok();
    });
    EXPECT_GT(adding, 3);
    EXPECT_GT(removing, 3);
  }
}

TEST_F(MemoryTest, RemovingAProviderWithADisabledKernelMayFailToo) {
  failures_until_ok([&] {
    const Status s = r_.remove("scalar");
    EXPECT_TRUE(s.ok() || s.code() == StatusCode::out_of_memory);
    EXPECT_EQ(r_.find("scalar"), s.ok() ? nullptr : &scalar_);
    EXPECT_TRUE(r_.config_status().ok());
    return s.ok();
  });
}

TEST_F(MemoryTest, ResolveFailsWithAStatus) {
  for (const KernelRequest& q :
       {KernelRequest{.key = kF32}, KernelRequest{.key = kQ4}, KernelRequest{.key = kF32, .provider = "unknown"},
        KernelRequest{.key = {Op::matmul, DType::f32, Compute::int8}}}) {
    const StatusCode expected = r_.resolve(q).status.code();
    const long failures = failures_until_ok([&] {
      const StatusCode code = r_.resolve(q).status.code();
      EXPECT_TRUE(code == expected || code == StatusCode::out_of_memory);
      return code == expected;
    });
    EXPECT_GT(failures, 0);
  }
}

TEST_F(MemoryTest, TextsAndListsComeBackEmpty) {
  EXPECT_GT(failures_until_ok([&] { return r_.explain({.key = kF32}).find("a.kernel") != std::string::npos; }), 0);
  EXPECT_GT(failures_until_ok([&] { return r_.providers().size() == 2; }), 0);
  EXPECT_GT(failures_until_ok([&] { return r_.usable(named_).usable || r_.usable(scalar_).usable; }), -1);
}

TEST_F(MemoryTest, ARegistryThatCouldNotBeMadeSaysSo) {
  const long failures = failures_until_ok([&] {
    const KernelRegistry r(CpuInfo{}, RegistryConfig{});
    EXPECT_TRUE(r.config_status().ok() || r.config_status().code() == StatusCode::out_of_memory);
    return r.config_status().ok();
  });
  EXPECT_GT(failures, 0);
}

TEST_F(MemoryTest, BuiltinEndsInAStatus) {
  const long failures = failures_until_ok([&] {
    const KernelRegistry r = KernelRegistry::builtin(CpuInfo{}, RegistryConfig{});
    EXPECT_TRUE(r.config_status().ok() || r.config_status().code() == StatusCode::out_of_memory);
    return r.config_status().ok();
  });
  EXPECT_GT(failures, 0);
}

TEST_F(MemoryTest, AnUnreadableEnvironmentIsAnError) {
  ::setenv("NIBBLAS_DISABLE", "a-value-that-is-too-long-for-small-strings", 1);
  allocations = 0;
  fail_at = 0;
  const RegistryConfig config = RegistryConfig::from_env();
  fail_at = -1;
  ::unsetenv("NIBBLAS_DISABLE");
  EXPECT_FALSE(KernelRegistry(cpu(), config).config_status().ok());
}

}  // namespace
}  // namespace nibblas
