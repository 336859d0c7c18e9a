// SPDX-License-Identifier: Apache-2.0
// NEON is in the baseline of 64-bit Arm, but these kernels ask for no feature: the floor on any CPU.
#define NIBBLAS_ISA_BASELINE
#include "kernels/scalar/kernels.hpp"

// The reference and the floor on any CPU: baseline flags, every legal key, exactly in the canonical order.
constinit const nibblas::KernelTable nibblas_isa_scalar{
    "scalar", 0, {}, nibblas::scalar::kernels, std::size(nibblas::scalar::kernels)};
