// SPDX-License-Identifier: Apache-2.0
#include "kernels/avx512/arch.hpp"
#include "kernels/common/kernel_list.hpp"

constinit const nibblas::KernelTable nibblas_isa_avx512 = nibblas::kernel_table<nibblas::avx512::Arch>(110);
