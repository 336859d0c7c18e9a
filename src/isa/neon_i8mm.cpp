// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/kernel_list.hpp"
#include "kernels/neon/i8mm.hpp"

constinit const nibblas::KernelTable nibblas_isa_neon_i8mm = nibblas::kernel_table<nibblas::neon::I8mmArch>(120);
