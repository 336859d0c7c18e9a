// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nibblas/kernel.hpp"
#include "nibblas/packed.hpp"
#include "product.hpp"

// Calls into whole kernels. They are code from outside: what they throw becomes a status.

namespace nibblas {

Status run_whole(const Kernel& kernel, const WeightSource& w, const ConstMatrixView& x, const MatrixView& y,
                 Context& context) noexcept;
/// Bytes of the kernel's own packing, a size that can be allocated.
Result<std::size_t> own_packed_bytes(const Kernel& kernel, DType dtype, std::size_t N, std::size_t K) noexcept;
Status pack_own(const Kernel& kernel, const WeightView& w, std::byte* out) noexcept;
/// Is `w`, whose layout id is the kernel's, also of its version and as large as it says? Errors: invalid_data.
Status check_own_packing(const Kernel& kernel, const PackedWeights& w) noexcept;

}  // namespace nibblas
