// SPDX-License-Identifier: Apache-2.0
#include "kernels/avx2/arch.hpp"
#include "kernels/common/kernel_list.hpp"

constinit const nibblas::KernelTable nibblas_isa_avx2 = nibblas::kernel_table<nibblas::avx2::Arch>(100);
