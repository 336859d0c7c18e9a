// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/kernel_list.hpp"
#include "kernels/neon/baseline.hpp"

constinit const nibblas::KernelTable nibblas_isa_neon = nibblas::kernel_table<nibblas::neon::BaselineArch>(100);
