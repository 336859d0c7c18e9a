// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/kernel_list.hpp"
#include "kernels/xsimd/arch.hpp"
#include "kernels/xsimd/target_avx512.hpp"

constinit const nibblas::KernelTable nibblas_isa_xsimd_avx512 =
    nibblas::kernel_table<nibblas::xsimd_kernels::Arch<nibblas::xsimd_kernels::Avx512>>(90);
