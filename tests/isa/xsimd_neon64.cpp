// SPDX-License-Identifier: Apache-2.0
#include "isa/operations_of.hpp"
#include "kernels/xsimd/arch.hpp"
#include "kernels/xsimd/target_neon64.hpp"

extern "C" constinit const nibblas::test::IsaOperations nibblas_test_xsimd_neon64 =
    nibblas::test::operations_of<nibblas::xsimd_kernels::Arch<nibblas::xsimd_kernels::Neon64>>();
