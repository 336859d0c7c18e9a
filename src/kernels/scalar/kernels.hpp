// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>

#include "isa/table.hpp"
#include "kernels/common/pack.hpp"
#include "kernels/common/pack_ternary.hpp"
#include "kernels/common/table.hpp"
#include "kernels/scalar/f32.hpp"
#include "kernels/scalar/int8.hpp"
#include "kernels/scalar/quantiser.hpp"

// Every kernel of the scalar provider, one line each.

namespace nibblas::scalar {
namespace {

using enum DType;

constexpr auto prepare_q8 = prepare_int8<Quantiser, false>;
constexpr auto prepare_token = prepare_int8<Quantiser, true>;

using Tq1 = Tq<tq1_0>;
using Tq2 = Tq<tq2_0>;

constexpr Kernel kernels[] = {
    tiled_kernel("matmul.f32.f32.scalar", f32, kFloatFamily, prepare_f32, pack_segments<f32>, float_tile<f32>),
    tiled_kernel("matmul.f16.f32.scalar", f16, kFloatFamily, prepare_f32, pack_segments<f16>, float_tile<f16>),
    tiled_kernel("matmul.bf16.f32.scalar", bf16, kFloatFamily, prepare_f32, pack_segments<bf16>, float_tile<bf16>),
    tiled_kernel("matmul.q8_0.int8.scalar", q8_0, kBlock32Int8, prepare_q8, pack_segments<q8_0>, int8_tile<Q8_0>),
    tiled_kernel("matmul.q4_0.int8.scalar", q4_0, kBlock32Int8, prepare_q8, pack_segments<q4_0>, int8_tile<Q4_0>),
    tiled_kernel("matmul.q4_k.int8.scalar", q4_k, kBlock256Int8, prepare_q8, pack_segments<q4_k>, int8_tile<Q4_K>),
    tiled_kernel("matmul.q5_k.int8.scalar", q5_k, kBlock256Int8, prepare_q8, pack_segments<q5_k>, int8_tile<Q5_K>),
    tiled_kernel("matmul.q6_k.int8.scalar", q6_k, kBlock256Int8, prepare_q8, pack_segments<q6_k>, int8_tile<Q6_K>),
    tiled_kernel("matmul.q8_0.f32.scalar", q8_0, kBlock32F32, prepare_f32, pack_segments<q8_0>, block_tile<Q8_0>),
    tiled_kernel("matmul.q4_0.f32.scalar", q4_0, kBlock32F32, prepare_f32, pack_segments<q4_0>, block_tile<Q4_0>),
    tiled_kernel("matmul.q4_k.f32.scalar", q4_k, kBlock256F32, prepare_f32, pack_segments<q4_k>, block_tile<Q4_K>),
    tiled_kernel("matmul.q5_k.f32.scalar", q5_k, kBlock256F32, prepare_f32, pack_segments<q5_k>, block_tile<Q5_K>),
    tiled_kernel("matmul.q6_k.f32.scalar", q6_k, kBlock256F32, prepare_f32, pack_segments<q6_k>, block_tile<Q6_K>),
    tiled_kernel("matmul.tq1_0.int8.scalar", tq1_0, kBlock256Int8, prepare_q8, pack_tq<tq1_0>, int8_tile<Tq1>),
    tiled_kernel("matmul.tq2_0.int8.scalar", tq2_0, kBlock256Int8, prepare_q8, pack_tq<tq2_0>, int8_tile<Tq2>),
    tiled_kernel("matmul.tq1_0.int8_token.scalar", tq1_0, kBlock256Token, prepare_token, pack_tq<tq1_0>,
                 int8_token_tq_tile<Tq1>),
    tiled_kernel("matmul.tq2_0.int8_token.scalar", tq2_0, kBlock256Token, prepare_token, pack_tq<tq2_0>,
                 int8_token_tq_tile<Tq2>),
    tiled_kernel("matmul.tq1_0.f32.scalar", tq1_0, kBlock256F32, prepare_f32, pack_tq<tq1_0>, ternary_block_tile<Tq1>),
    tiled_kernel("matmul.tq2_0.f32.scalar", tq2_0, kBlock256F32, prepare_f32, pack_tq<tq2_0>, ternary_block_tile<Tq2>),
    tiled_kernel("matmul.bitnet_b158.f32.scalar", bitnet_b158, kFloatFamily, prepare_f32, pack_bitnet, bitnet_tile),
    tiled_kernel("matmul.bitnet_b158.int8.scalar", bitnet_b158, kBlock32Int8, prepare_q8, pack_bitnet,
                 int8_bitnet_tile<false>),
    tiled_kernel("matmul.bitnet_b158.int8_token.scalar", bitnet_b158, kTensorToken, prepare_token, pack_bitnet,
                 int8_bitnet_tile<true>),
};

}  // namespace
}  // namespace nibblas::scalar
