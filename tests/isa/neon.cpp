// SPDX-License-Identifier: Apache-2.0
#include "isa/operations_of.hpp"
#include "kernels/neon/baseline.hpp"

extern "C" constinit const nibblas::test::IsaOperations nibblas_test_neon =
    nibblas::test::operations_of<nibblas::neon::BaselineArch>();
