// SPDX-License-Identifier: Apache-2.0
#include "isa/operations_of.hpp"
#include "kernels/neon/i8mm.hpp"

extern "C" constinit const nibblas::test::IsaOperations nibblas_test_neon_i8mm =
    nibblas::test::operations_of<nibblas::neon::I8mmArch>();
