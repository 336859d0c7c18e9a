// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/kernel_list.hpp"
#include "kernels/neon/dotprod.hpp"

constinit const nibblas::KernelTable nibblas_isa_neon_dotprod = nibblas::kernel_table<nibblas::neon::DotprodArch>(110);
