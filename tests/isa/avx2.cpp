// SPDX-License-Identifier: Apache-2.0
#include "isa/operations_of.hpp"
#include "kernels/avx2/arch.hpp"

extern "C" constinit const nibblas::test::IsaOperations nibblas_test_avx2 =
    nibblas::test::operations_of<nibblas::avx2::Arch>();
