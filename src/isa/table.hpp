// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nibblas/kernel.hpp"
#include "strict_fp.hpp"

// What an ISA translation unit exports: one constinit table of plain data, and no other symbol.

namespace nibblas {

struct KernelTable {
  const char* name;  ///< of the provider
  int priority;
  CpuFeatures needs;  ///< computed in the translation unit from the compiler's own macros
  const Kernel* kernels;
  std::size_t count;
};

}  // namespace nibblas

extern "C" {
extern const nibblas::KernelTable nibblas_isa_scalar;
extern const nibblas::KernelTable nibblas_isa_avx2;
extern const nibblas::KernelTable nibblas_isa_avx512;
extern const nibblas::KernelTable nibblas_isa_xsimd_avx2;
extern const nibblas::KernelTable nibblas_isa_xsimd_avx512;
extern const nibblas::KernelTable nibblas_isa_neon;
extern const nibblas::KernelTable nibblas_isa_neon_dotprod;
extern const nibblas::KernelTable nibblas_isa_neon_i8mm;
extern const nibblas::KernelTable nibblas_isa_xsimd_neon64;
}
