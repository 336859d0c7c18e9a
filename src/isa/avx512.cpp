// SPDX-License-Identifier: Apache-2.0
#include "isa/features.hpp"
#include "kernels/avx512/kernels.hpp"

constinit const nibblas::KernelTable nibblas_isa_avx512{"avx512", 110, nibblas::compiled_features(),
                                                        nibblas::avx512::kernels, std::size(nibblas::avx512::kernels)};
