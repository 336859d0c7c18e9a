// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nibblas::test {

/// This thread's floating-point control register, without its sticky flags.
inline std::uint64_t fp_control() noexcept {
#if defined(__x86_64__)
  return _mm_getcsr() & ~std::uint64_t{0x3f};
#elif defined(__aarch64__)
  std::uint64_t v;
  asm volatile("mrs %0, fpcr" : "=r"(v));
  return v;
#else
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

/// Runs code with subnormals flushed to zero, in input and output; where the architecture cannot, nothing changes.
class FlushToZero {
 public:
#if defined(__x86_64__)
  FlushToZero() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushToZero() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  FlushToZero() noexcept : saved_(fp_control()) {
    asm volatile("msr fpcr, %0" : : "r"(saved_ | (1u << 24)) : "memory");
  }
  ~FlushToZero() { asm volatile("msr fpcr, %0" : : "r"(saved_) : "memory"); }
#else
  FlushToZero() noexcept = default;
  ~FlushToZero() = default;
#endif
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
#elif defined(__aarch64__)
  std::uint64_t saved_;
#endif
};

/// The whole environment as it was, rounding mode, traps and flags.
class RestoreFpEnvironment {
 public:
  RestoreFpEnvironment() noexcept { std::fegetenv(&saved_); }
  ~RestoreFpEnvironment() { std::fesetenv(&saved_); }
  RestoreFpEnvironment(const RestoreFpEnvironment&) = delete;
  RestoreFpEnvironment& operator=(const RestoreFpEnvironment&) = delete;

 private:
  std::fenv_t saved_{};
};

}  // namespace nibblas::test
