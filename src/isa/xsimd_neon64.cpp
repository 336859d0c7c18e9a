// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/kernel_list.hpp"
#include "kernels/xsimd/arch.hpp"
#include "kernels/xsimd/target_neon64.hpp"

constinit const nibblas::KernelTable nibblas_isa_xsimd_neon64 =
    nibblas::kernel_table<nibblas::xsimd_kernels::Arch<nibblas::xsimd_kernels::Neon64>>(80);
