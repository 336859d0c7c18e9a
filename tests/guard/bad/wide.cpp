// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

void copy64(float* to, const float* from) { _mm512_storeu_ps(to, _mm512_loadu_ps(from)); }
