// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xsimd/xsimd.hpp>

// Casts and shifts of batches. xsimd 8.1 finds those of NEON in tables of functions, which compilers leave as calls, to
// symbols that other objects share; so a Target may have its own.

namespace nibblas::xsimd_kernels {
namespace {

/// The same bits as another batch.
template <class To, class T, class Target>
[[gnu::always_inline]] inline To cast(const ::xsimd::batch<T, Target>& a) noexcept {
  if constexpr (requires { Target::template cast<To>(a); }) {
    return Target::template cast<To>(a);
  } else {
    return ::xsimd::bitwise_cast<To>(a);
  }
}

template <class T, class Target>
[[gnu::always_inline]] inline ::xsimd::batch<T, Target> shift_left(const ::xsimd::batch<T, Target>& a, int n) noexcept {
  if constexpr (requires { Target::shift_left(a, n); }) {
    return Target::shift_left(a, n);
  } else {
    return a << n;
  }
}

/// Arithmetic for signed lanes, logical for unsigned ones.
template <class T, class Target>
[[gnu::always_inline]] inline ::xsimd::batch<T, Target> shift_right(const ::xsimd::batch<T, Target>& a,
                                                                    int n) noexcept {
  if constexpr (requires { Target::shift_left(a, -n); }) {
    return Target::shift_left(a, -n);
  } else {
    return a >> n;
  }
}

}  // namespace
}  // namespace nibblas::xsimd_kernels
