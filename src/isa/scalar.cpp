// SPDX-License-Identifier: Apache-2.0
#include "kernels/scalar/kernels.hpp"

// The reference and the floor on any CPU: baseline flags, every legal key, exactly in the canonical order.
constinit const nibblas::KernelTable nibblas_isa_scalar{
    "scalar", 0, {}, nibblas::scalar::kernels, std::size(nibblas::scalar::kernels)};
