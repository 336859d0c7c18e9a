// SPDX-License-Identifier: Apache-2.0
#include "isa/operations_of.hpp"
#include "kernels/avx512/arch.hpp"

extern "C" constinit const nibblas::test::IsaOperations nibblas_test_avx512 =
    nibblas::test::operations_of<nibblas::avx512::Arch>();
