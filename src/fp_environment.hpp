// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace nibblas {

/// The floating-point environment in which every result of this library is defined: round to nearest even, subnormals
/// kept (no FTZ, no DAZ), no trap. The destructor gives the caller's control bits and status flags back as they were,
/// so work inside leaves no trace. Belongs to the thread that makes it.
///
/// Compilers do not model the control register, but neither do they move memory accesses over its writes: keep inside
/// the scope arithmetic that loads its operands from the caller's memory and stores its results there.
class [[nodiscard]] FpEnvironment {
 public:
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

#if defined(__x86_64__)
  FpEnvironment() noexcept : saved_(_mm_getcsr()) {
    constexpr unsigned kNearestAllMasked = 0x1f80;
    write(kNearestAllMasked);
  }
  ~FpEnvironment() { write(saved_); }

 private:
  static void write(unsigned mxcsr) noexcept {
    barrier();
    _mm_setcsr(mxcsr);
    barrier();
  }
  static void barrier() noexcept { asm volatile("" ::: "memory"); }
  unsigned saved_;
#elif defined(__aarch64__)
  FpEnvironment() noexcept {
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(status_) : : "memory");
    asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}) : "memory");
  }
  ~FpEnvironment() { asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control_), "r"(status_) : "memory"); }

 private:
  std::uint64_t control_ = 0;
  std::uint64_t status_ = 0;
#else
  FpEnvironment() noexcept {
    std::feholdexcept(&saved_);
    std::fesetround(FE_TONEAREST);
  }
  ~FpEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace nibblas
