// SPDX-License-Identifier: Apache-2.0
#include "isa/operations_of.hpp"
#include "kernels/neon/dotprod.hpp"

extern "C" constinit const nibblas::test::IsaOperations nibblas_test_neon_dotprod =
    nibblas::test::operations_of<nibblas::neon::DotprodArch>();
