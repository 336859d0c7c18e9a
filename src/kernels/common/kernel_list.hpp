// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <iterator>
#include <string_view>

#include "isa/features.hpp"
#include "isa/table.hpp"
#include "kernels/codecs/q4_0.hpp"
#include "kernels/codecs/q4_k.hpp"
#include "kernels/codecs/q5_k.hpp"
#include "kernels/codecs/q6_k.hpp"
#include "kernels/codecs/q8_0.hpp"
#include "kernels/common/f32.hpp"
#include "kernels/common/f32_blocks.hpp"
#include "kernels/common/f32_rows.hpp"
#include "kernels/common/int8_rows.hpp"
#include "kernels/common/pack_simd.hpp"
#include "kernels/common/pack_ternary_simd.hpp"
#include "kernels/common/prepare_simd.hpp"
#include "kernels/common/table.hpp"
#include "kernels/common/ternary_f32.hpp"
#include "kernels/common/ternary_int8.hpp"

// The kernels that every SIMD provider offers, one line each. `Arch` (src/kernels/<isa>/arch.hpp) says what they are
// made of on that ISA:
//   name                    of the provider
//   Isa, Transposer, Quantiser
//   kFloatTokens            tokens whose float sums, times two columns, fill the registers
//   kFewTokens              tokens of a block format in f32 for which decoding into memory does not pay (measured)
//   kInt8Columns, kInt8Tokens   columns x tokens that share the loads of codes and activations in an int8 tile
//   kTernaryTokens          tokens whose sums, in a ternary tile of two columns, fill the registers

namespace nibblas {
namespace {

/// "matmul.<weights>.<compute>.<provider>", in static storage.
template <class Arch, DType W, Compute C>
constexpr auto kKernelName = [] {
  constexpr std::string_view parts[] = {"matmul.", to_string(W), ".", to_string(C), ".", Arch::name};
  constexpr std::size_t length = [&] {
    std::size_t n = 0;
    for (const std::string_view p : parts) n += p.size();
    return n;
  }();
  std::array<char, length + 1> text{};
  std::size_t at = 0;
  for (const std::string_view p : parts) {
    for (const char c : p) text[at++] = c;
  }
  return text;
}();

/// Columns of the panels that stream side by side.
template <class Arch, DType W>
constexpr std::size_t kWideColumns = streams_of(W) * kPanelRows / Arch::Isa::lanes;

template <class Arch, DType W>
constexpr Kernel float_kernel() {
  Kernel k = tiled_kernel(kKernelName<Arch, W, Compute::f32>.data(), W, kFloatFamily,
                          prepare_f32_simd<typename Arch::Transposer>, pack_floats<typename Arch::Transposer, W>,
                          float_tile<typename Arch::Isa, W, Arch::kFloatTokens, kWideColumns<Arch, W>>, streams_of(W));
  k.tiled.rows = float_rows<typename Arch::Isa, typename Arch::Transposer, W>;
  return k;
}

template <class Arch, template <class> class Codec>
constexpr Kernel int8_kernel() {
  using C = Codec<typename Arch::Isa>;
  constexpr KernelFamily family = info(C::dtype).block_elems == 256 ? kBlock256Int8 : kBlock32Int8;
  constexpr std::size_t streams_of_one = int8_streams_of_one(C::dtype, Arch::Isa::lanes);
  constexpr std::size_t wide = streams_of_one * kPanelRows / Arch::Isa::lanes;
  Kernel k =
      tiled_kernel(kKernelName<Arch, C::dtype, Compute::int8>.data(), C::dtype, family,
                   prepare_int8<typename Arch::Quantiser, false>, pack_blocks<typename Arch::Transposer, C::dtype>,
                   int8_tile<typename Arch::Isa, C, Arch::kInt8Columns, Arch::kInt8Tokens, wide>, streams_of(C::dtype));
  k.tiled.streams_of_one = streams_of_one;
  if constexpr (DotsRows<typename Arch::Isa>)
    k.tiled.rows = int8_rows<typename Arch::Isa, typename Arch::Transposer, C>;
  return k;
}

template <class Arch, template <class> class Codec>
constexpr Kernel f32_block_kernel() {
  using C = Codec<typename Arch::Isa>;
  constexpr KernelFamily family = info(C::dtype).block_elems == 256 ? kBlock256F32 : kBlock32F32;
  // Codes of 5 and 6 bits need registers of their own.
  constexpr std::size_t few = C::max_code > 15 && Arch::kFewTokens > 1 ? Arch::kFewTokens - 1 : Arch::kFewTokens;
  return tiled_kernel(kKernelName<Arch, C::dtype, Compute::f32>.data(), C::dtype, family,
                      prepare_f32_simd<typename Arch::Transposer>, pack_blocks<typename Arch::Transposer, C::dtype>,
                      f32_block_tile<typename Arch::Isa, C, Arch::kFloatTokens, kWideColumns<Arch, C::dtype>, few>,
                      streams_of(C::dtype));
}

/// Columns of one token. The f32 tile keeps the sums of all of them in registers, where AVX2 has room for four.
template <class Arch>
constexpr std::size_t kTernaryWide = kTernaryStreams* kPanelRows / Arch::Isa::lanes;
inline constexpr std::size_t kTernaryWideF32 = 4;

template <class Arch, DType W>
constexpr auto kPackTernary = [] {
  if constexpr (W == DType::bitnet_b158)
    return &pack_bitnet_simd<typename Arch::Isa, typename Arch::Transposer>;
  else
    return &pack_tq_simd<typename Arch::Isa, typename Arch::Transposer, W>;
}();

template <class Arch, DType W>
constexpr Kernel ternary_f32_kernel() {
  constexpr KernelFamily family = has_tail_scale(W) ? kFloatFamily : kBlock256F32;
  return tiled_kernel(kKernelName<Arch, W, Compute::f32>.data(), W, family, prepare_f32_simd<typename Arch::Transposer>,
                      kPackTernary<Arch, W>,
                      ternary_f32_tile<typename Arch::Isa, ternary_panel(W), Arch::kTernaryTokens, kTernaryWideF32>,
                      kTernaryStreams);
}

template <class Arch, DType W>
constexpr Kernel ternary_int8_kernel() {
  using Isa = typename Arch::Isa;
  constexpr KernelFamily family = has_tail_scale(W) ? kBlock32Int8 : kBlock256Int8;
  return tiled_kernel(
      kKernelName<Arch, W, Compute::int8>.data(), W, family, prepare_int8<typename Arch::Quantiser, false>,
      kPackTernary<Arch, W>,
      ternary_int8_tile<Isa, ternary_panel(W), Arch::kInt8Columns, Arch::kInt8Tokens, kTernaryWide<Arch>>,
      kTernaryStreams);
}

template <class Arch, DType W>
constexpr Kernel ternary_token_kernel() {
  using Isa = typename Arch::Isa;
  constexpr KernelFamily family = has_tail_scale(W) ? kTensorToken : kBlock256Token;
  constexpr auto tile = [] {
    if constexpr (has_tail_scale(W))
      return &token_tensor_tile<Isa, Arch::kTernaryTokens, kTernaryWide<Arch>>;
    else
      return &token_block_tile<Isa, Arch::kTernaryTokens, kTernaryWide<Arch>>;
  }();
  return tiled_kernel(kKernelName<Arch, W, Compute::int8_token>.data(), W, family,
                      prepare_int8<typename Arch::Quantiser, true>, kPackTernary<Arch, W>, tile, kTernaryStreams);
}

template <class Arch>
constexpr Kernel kKernels[] = {
    // clang-format off
    float_kernel<Arch, DType::f32>(),
    float_kernel<Arch, DType::f16>(),
    float_kernel<Arch, DType::bf16>(),
    int8_kernel<Arch, Q8_0>(),
    int8_kernel<Arch, Q4_0>(),
    int8_kernel<Arch, Q4_K>(),
    int8_kernel<Arch, Q5_K>(),
    int8_kernel<Arch, Q6_K>(),
    f32_block_kernel<Arch, Q8_0>(),
    f32_block_kernel<Arch, Q4_0>(),
    f32_block_kernel<Arch, Q4_K>(),
    f32_block_kernel<Arch, Q5_K>(),
    f32_block_kernel<Arch, Q6_K>(),
    ternary_f32_kernel<Arch, DType::tq1_0>(),
    ternary_f32_kernel<Arch, DType::tq2_0>(),
    ternary_f32_kernel<Arch, DType::bitnet_b158>(),
    ternary_int8_kernel<Arch, DType::tq1_0>(),
    ternary_int8_kernel<Arch, DType::tq2_0>(),
    ternary_int8_kernel<Arch, DType::bitnet_b158>(),
    ternary_token_kernel<Arch, DType::tq1_0>(),
    ternary_token_kernel<Arch, DType::tq2_0>(),
    ternary_token_kernel<Arch, DType::bitnet_b158>(),
    // clang-format on
};

template <class Arch>
constexpr KernelTable kernel_table(int priority) {
  return {Arch::name, priority, compiled_features(), kKernels<Arch>, std::size(kKernels<Arch>)};
}

}  // namespace
}  // namespace nibblas
