// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>

#include "isa/table.hpp"
#include "kernels/avx512/isa.hpp"
#include "kernels/avx512/quantiser.hpp"
#include "kernels/avx512/transpose.hpp"
#include "kernels/codecs/q4_0.hpp"
#include "kernels/codecs/q4_k.hpp"
#include "kernels/codecs/q5_k.hpp"
#include "kernels/codecs/q6_k.hpp"
#include "kernels/codecs/q8_0.hpp"
#include "kernels/common/f32.hpp"
#include "kernels/common/int8.hpp"
#include "kernels/common/pack_simd.hpp"
#include "kernels/common/prepare.hpp"
#include "kernels/common/table.hpp"

// Every kernel of the avx512 provider, one line each.

namespace nibblas::avx512 {
namespace {

using enum DType;
constexpr auto prepare_q8 = prepare_int8<Quantiser, false>;

constexpr Kernel kernels[] = {
    tiled_kernel("matmul.f32.f32.avx512", f32, kFloatFamily, prepare_f32, pack_floats<Transposer, f32>,
                 float_tile<Isa, f32, 12, 4>, 4),
    tiled_kernel("matmul.f16.f32.avx512", f16, kFloatFamily, prepare_f32, pack_floats<Transposer, f16>,
                 float_tile<Isa, f16, 12, 4>, 4),
    tiled_kernel("matmul.bf16.f32.avx512", bf16, kFloatFamily, prepare_f32, pack_floats<Transposer, bf16>,
                 float_tile<Isa, bf16, 12, 4>, 4),
    tiled_kernel("matmul.q8_0.int8.avx512", q8_0, kBlock32Int8, prepare_q8, pack_blocks<Transposer, q8_0>,
                 int8_tile<Isa, Q8_0<Isa>, 2, 4>, 4),
    tiled_kernel("matmul.q4_0.int8.avx512", q4_0, kBlock32Int8, prepare_q8, pack_blocks<Transposer, q4_0>,
                 int8_tile<Isa, Q4_0<Isa>, 2, 4>, 4),
    tiled_kernel("matmul.q4_k.int8.avx512", q4_k, kBlock256Int8, prepare_q8, pack_blocks<Transposer, q4_k>,
                 int8_tile<Isa, Q4_K<Isa>, 2, 4>, 4),
    tiled_kernel("matmul.q5_k.int8.avx512", q5_k, kBlock256Int8, prepare_q8, pack_blocks<Transposer, q5_k>,
                 int8_tile<Isa, Q5_K<Isa>, 2, 4>, 4),
    tiled_kernel("matmul.q6_k.int8.avx512", q6_k, kBlock256Int8, prepare_q8, pack_blocks<Transposer, q6_k>,
                 int8_tile<Isa, Q6_K<Isa>, 2, 4>, 4),
};

}  // namespace
}  // namespace nibblas::avx512
