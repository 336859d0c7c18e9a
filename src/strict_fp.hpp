// SPDX-License-Identifier: Apache-2.0
#pragma once

// The canonical order of docs/numerics.md means what it says only under IEEE arithmetic. The build adds the flags after
// the user's own; this catches a build that goes around it. Included by every file that does arithmetic on weights.

#include <cfloat>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "nibblas must be compiled with -fno-fast-math"
#endif

static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16, "nibblas needs float arithmetic without excess precision");
