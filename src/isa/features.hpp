// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nibblas/cpu.hpp"

// The features that this translation unit's own flags let the compiler use, from its macros: what a table asks for can
// never be less than what its code contains.

namespace nibblas {
namespace {

constexpr CpuFeatures compiled_features() {
  CpuFeatures f;
#ifdef __SSSE3__
  f = f.with(CpuFeature::ssse3);
#endif
#ifdef __SSE4_1__
  f = f.with(CpuFeature::sse4_1);
#endif
#ifdef __AVX__
  f = f.with(CpuFeature::avx);
#endif
#ifdef __F16C__
  f = f.with(CpuFeature::f16c);
#endif
#ifdef __FMA__
  f = f.with(CpuFeature::fma);
#endif
#ifdef __AVX2__
  f = f.with(CpuFeature::avx2);
#endif
#ifdef __BMI2__
  f = f.with(CpuFeature::bmi2);
#endif
#ifdef __AVX512F__
  f = f.with(CpuFeature::avx512f);
#endif
#ifdef __AVX512BW__
  f = f.with(CpuFeature::avx512bw);
#endif
#ifdef __AVX512VL__
  f = f.with(CpuFeature::avx512vl);
#endif
#ifdef __AVX512DQ__
  f = f.with(CpuFeature::avx512dq);
#endif
#ifdef __AVX512CD__
  f = f.with(CpuFeature::avx512cd);
#endif
#ifdef __AVX512VNNI__
  f = f.with(CpuFeature::avx512vnni);
#endif
#ifdef __AVX512VBMI__
  f = f.with(CpuFeature::avx512vbmi);
#endif
#ifdef __AVX512BF16__
  f = f.with(CpuFeature::avx512bf16);
#endif
#ifdef __AVXVNNI__
  f = f.with(CpuFeature::avxvnni);
#endif
#if defined(__ARM_NEON) && !defined(NIBBLAS_ISA_BASELINE)
  f = f.with(CpuFeature::neon);
#endif
#ifdef __ARM_FEATURE_DOTPROD
  f = f.with(CpuFeature::dotprod);
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
  f = f.with(CpuFeature::i8mm);
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
  f = f.with(CpuFeature::fp16);
#endif
#ifdef __ARM_FEATURE_SVE
  f = f.with(CpuFeature::sve);
#endif
  return f;
}

}  // namespace
}  // namespace nibblas
