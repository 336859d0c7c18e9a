// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nibblas/dtype.hpp"
#include "nibblas/export.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

namespace nibblas {

/// IEEE 754 binary16 <-> f32; subnormals exact, round to nearest even, NaN stays a quiet NaN.
NIBBLAS_API float f16_to_f32(std::uint16_t h) noexcept;
NIBBLAS_API std::uint16_t f32_to_f16(float f) noexcept;
/// bfloat16 <-> f32; round to nearest even. A NaN stays one: to f32 with its bits as they are, to bf16 a quiet one.
NIBBLAS_API float bf16_to_f32(std::uint16_t h) noexcept;
NIBBLAS_API std::uint16_t f32_to_bf16(float f) noexcept;

/// Bytes of one row of K elements. Errors: shape_mismatch when K is not a multiple of the block or the size
/// overflows; unsupported for bitnet_b158, whose rows need not be byte-aligned (use tensor_bytes).
NIBBLAS_API Result<std::size_t> row_bytes(DType dtype, std::size_t K) noexcept;

/// Bytes of a dense N x K tensor, bitnet_b158's trailing scale included (also when N or K is 0). Errors: shape_mismatch
/// as for row_bytes.
NIBBLAS_API Result<std::size_t> tensor_bytes(DType dtype, std::size_t N, std::size_t K) noexcept;

/// Does the view describe readable memory: dtype, K, stride, extent, pointer? Looks at no weight byte. A view without
/// elements needs no memory. Errors: unsupported, shape_mismatch, invalid_argument, buffer_too_small.
NIBBLAS_API Status check_view(const WeightView& w) noexcept;

/// check_view, then every block. invalid_data names the row and block of a scale that is NaN or Inf, or the row and
/// element of a value that is (f32, f16, bf16) and of a code that the format does not have (ternary code 3).
NIBBLAS_API Status validate(const WeightView& w) noexcept;

/// Decodes rows [row0, row0 + out.rows) of w to f32, bit-exact with ggml. out.cols == w.K. Any bytes decode: what
/// validate would refuse gives values, perhaps NaN or Inf. out must not share memory with the rows that are decoded.
/// Errors as check_view, and invalid_argument for a bad out; out is untouched on error.
NIBBLAS_API Status dequantize(const WeightView& w, std::size_t row0, MatrixView out) noexcept;

/// Encodes x (N x K) into out, dense rows; out.size() >= tensor_bytes(dtype, N, K), sharing no memory with x. f16,
/// bf16, q8_0, q4_0, tq1_0 and tq2_0 give ggml's bytes; a block too small for a finite 1/scale becomes a zero block.
/// q4_k, q5_k and q6_k search for the least squared error. Every value and scale written is finite. Errors:
/// invalid_argument naming row and column of an element that is not finite or so large that its f16 (bf16) value or
/// scale would not be (q8_0 8.3e6, q4_0 5.2e5, K-quants 4.1e6, f16 and ternary 65519), or when out shares memory with
/// x; unsupported for a format that has no encoder. out is untouched on error.
NIBBLAS_API Status quantize(DType dtype, ConstMatrixView x, std::span<std::byte> out) noexcept;
NIBBLAS_API bool can_quantize(DType dtype) noexcept;

}  // namespace nibblas
