// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>

#include "isa/table.hpp"
#include "kernels/avx512/isa.hpp"
#include "kernels/avx512/quantiser.hpp"
#include "kernels/codecs/q4_0.hpp"
#include "kernels/codecs/q4_k.hpp"
#include "kernels/codecs/q5_k.hpp"
#include "kernels/codecs/q6_k.hpp"
#include "kernels/codecs/q8_0.hpp"
#include "kernels/common/f32.hpp"
#include "kernels/common/int8.hpp"
#include "kernels/common/pack.hpp"
#include "kernels/common/prepare.hpp"
#include "kernels/common/table.hpp"

// Every kernel of the avx512 provider, one line each.

namespace nibblas::avx512 {
namespace {

using enum DType;
constexpr auto prepare_q8 = prepare_int8<Quantiser, false>;

constexpr Kernel kernels[] = {
    tiled_kernel("matmul.f32.f32.avx512", f32, kFloatFamily, prepare_f32, pack_segments<f32>,
                 float_tile<Isa, f32, 12, 4>),
    tiled_kernel("matmul.q8_0.int8.avx512", q8_0, kBlock32Int8, prepare_q8, pack_segments<q8_0>,
                 int8_tile<Isa, Q8_0<Isa>, 2, 4>),
    tiled_kernel("matmul.q4_0.int8.avx512", q4_0, kBlock32Int8, prepare_q8, pack_segments<q4_0>,
                 int8_tile<Isa, Q4_0<Isa>, 2, 4>),
};

}  // namespace
}  // namespace nibblas::avx512
