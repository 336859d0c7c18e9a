// SPDX-License-Identifier: Apache-2.0
#include "isa/features.hpp"
#include "kernels/avx2/kernels.hpp"

constinit const nibblas::KernelTable nibblas_isa_avx2{"avx2", 100, nibblas::compiled_features(), nibblas::avx2::kernels,
                                                      std::size(nibblas::avx2::kernels)};
