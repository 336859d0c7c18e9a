// SPDX-License-Identifier: Apache-2.0
#include "nibblas/formats.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "formats/bf16.hpp"
#include "formats/bitnet_b158.hpp"
#include "formats/codec.hpp"
#include "formats/f16.hpp"
#include "formats/f32.hpp"
#include "formats/q4_0.hpp"
#include "formats/q4_k.hpp"
#include "formats/q5_k.hpp"
#include "formats/q6_k.hpp"
#include "formats/q8_0.hpp"
#include "formats/tq1_0.hpp"
#include "formats/tq2_0.hpp"
#include "fp_environment.hpp"
#include "overlap.hpp"
#include "status_message.hpp"

namespace nibblas {
namespace {

using formats::block_codec;
using formats::Fault;
using formats::FormatCodec;

/// In the order of DType.
constexpr std::array<FormatCodec, kDTypeCount> kCodecs{
    block_codec<formats::F32>(),   block_codec<formats::F16>(),  block_codec<formats::BF16>(),
    block_codec<formats::Q8_0>(),  block_codec<formats::Q4_0>(), block_codec<formats::Q4_K>(),
    block_codec<formats::Q5_K>(),  block_codec<formats::Q6_K>(), block_codec<formats::TQ1_0>(),
    block_codec<formats::TQ2_0>(), formats::bitnet_codec(),
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kCodecs[i].dtype != static_cast<DType>(i) || kDTypes[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(in_order());

const FormatCodec& codec(DType dtype) noexcept { return kCodecs[static_cast<std::size_t>(dtype)]; }

constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();

/// a * b + c, or false when that is more than a size_t holds.
bool multiply_add(std::size_t a, std::size_t b, std::size_t c, std::size_t& result) noexcept {
  if (a != 0 && b > (kMax - c) / a) return false;
  result = a * b + c;
  return true;
}

Status check_dtype(DType dtype) noexcept {
  if (is_valid(dtype)) return {};
  return error(StatusCode::unsupported, "dtype ", static_cast<unsigned>(dtype), " is not a weight format");
}

Status too_large(DType dtype, std::size_t N, std::size_t K) noexcept {
  return error(StatusCode::shape_mismatch, to_string(dtype), ": the size of N = ", N, ", K = ", K, " overflows");
}

/// Do `rows` rows of `cols` f32, `stride` apart, lie in addressable, aligned memory?
Status check_matrix(const char* name, const ConstMatrixView& m) noexcept {
  if (m.stride < m.cols) {
    return error(StatusCode::invalid_argument, name, ": stride = ", m.stride, " is less than cols = ", m.cols);
  }
  if (m.rows == 0 || m.cols == 0) return {};
  if (m.data == nullptr) {
    return error(StatusCode::invalid_argument, name, ": data is null with rows = ", m.rows, ", cols = ", m.cols);
  }
  if (reinterpret_cast<std::uintptr_t>(m.data) % alignof(float) != 0) {
    return error(StatusCode::invalid_argument, name, ": data is not 4-byte aligned");
  }
  std::size_t extent = 0;
  if (!multiply_add(m.rows - 1, m.stride, m.cols, extent) || extent > kMax / sizeof(float)) {
    return error(StatusCode::shape_mismatch, name, ": the size of rows = ", m.rows, ", stride = ", m.stride,
                 " overflows");
  }
  return {};
}

/// The first element of x that `format` cannot hold.
Status check_values(const FormatCodec& format, const ConstMatrixView& x) noexcept {
  for (std::size_t row = 0; row < x.rows; ++row) {
    const float* values = x.data + row * x.stride;
    for (std::size_t k = 0; k < x.cols; ++k) {
      if (std::fabs(values[k]) <= format.max_abs) continue;
      const std::string_view name = to_string(format.dtype);
      if (!formats::float_is_finite(values[k])) {
        return error(StatusCode::invalid_argument, name, ": row ", row, ", column ", k, " is ", values[k],
                     ", not a finite value");
      }
      return error(StatusCode::invalid_argument, name, ": row ", row, ", column ", k, " is ", values[k],
                   ", beyond the largest magnitude ", format.max_abs);
    }
  }
  return {};
}

Status fault_status(DType dtype, std::size_t row, const Fault& fault) noexcept {
  const std::string_view name = to_string(dtype);
  switch (fault.kind) {
    case Fault::Kind::scale:
      return error(StatusCode::invalid_data, name, ": row ", row, ", block ", fault.position, ": ", fault.field, " is ",
                   fault.value);
    case Fault::Kind::element:
      return error(StatusCode::invalid_data, name, ": row ", row, ", element ", fault.position, " is ", fault.value);
    case Fault::Kind::code:
      return error(StatusCode::invalid_data, name, ": row ", row, ", element ", fault.position, " has the code 3");
    case Fault::Kind::none:
      break;
  }
  return {};
}

}  // namespace

float f16_to_f32(std::uint16_t h) noexcept { return formats::half_to_float(h); }
std::uint16_t f32_to_f16(float f) noexcept { return formats::float_to_half(f); }
float bf16_to_f32(std::uint16_t h) noexcept { return formats::brain_to_float(h); }
std::uint16_t f32_to_bf16(float f) noexcept { return formats::float_to_brain(f); }

Result<std::size_t> row_bytes(DType dtype, std::size_t K) noexcept {
  if (Status s = check_dtype(dtype); !s) return s;
  if (dtype == DType::bitnet_b158) {
    return error(StatusCode::unsupported, "bitnet_b158: rows have no size of their own, only the tensor has");
  }
  const DTypeInfo& i = info(dtype);
  if (K % i.block_elems != 0) {
    return error(StatusCode::shape_mismatch, i.name, ": K = ", K, " is not a multiple of ", i.block_elems);
  }
  std::size_t bytes = 0;
  if (!multiply_add(K / i.block_elems, i.block_bytes, 0, bytes)) {
    return error(StatusCode::shape_mismatch, i.name, ": the size of a row of K = ", K, " overflows");
  }
  return bytes;
}

Result<std::size_t> tensor_bytes(DType dtype, std::size_t N, std::size_t K) noexcept {
  if (Status s = check_dtype(dtype); !s) return s;
  std::size_t bytes = 0;
  if (dtype == DType::bitnet_b158) {
    if (!multiply_add(N, K, 0, bytes)) return too_large(dtype, N, K);
    return formats::BitnetB158::code_bytes(bytes) + sizeof(float);
  }
  const Result<std::size_t> row = row_bytes(dtype, K);
  if (!row) return row;
  if (!multiply_add(N, *row, 0, bytes)) return too_large(dtype, N, K);
  return bytes;
}

Status check_view(const WeightView& w) noexcept {
  std::size_t row = 0;
  std::size_t extent = 0;
  if (w.dtype == DType::bitnet_b158) {
    const Result<std::size_t> dense = tensor_bytes(w.dtype, w.N, w.K);
    if (!dense) return dense.status();
    if (w.row_stride != 0) {
      return error(StatusCode::invalid_argument, "bitnet_b158: row_stride = ", w.row_stride,
                   ", but rows follow each other in one stream (0)");
    }
    extent = *dense;
  } else {
    const Result<std::size_t> dense = row_bytes(w.dtype, w.K);
    if (!dense) return dense.status();
    row = *dense;
    if (w.row_stride != 0 && w.row_stride < row) {
      return error(StatusCode::invalid_argument, to_string(w.dtype), ": row_stride = ", w.row_stride,
                   " is less than the ", row, " bytes of a row of K = ", w.K);
    }
    const std::size_t stride = w.stride(row);
    if (w.N != 0 && !multiply_add(w.N - 1, stride, row, extent)) {
      if (w.row_stride == 0) return too_large(w.dtype, w.N, w.K);
      return error(StatusCode::shape_mismatch, to_string(w.dtype), ": the size of N = ", w.N,
                   " rows of row_stride = ", w.row_stride, " overflows");
    }
  }
  if (w.N == 0 || w.K == 0) return {};
  if (w.data == nullptr) {
    return error(StatusCode::invalid_argument, to_string(w.dtype), ": data is null with N = ", w.N, ", K = ", w.K);
  }
  if (w.bytes < extent) {
    return error(StatusCode::buffer_too_small, to_string(w.dtype), ": bytes = ", w.bytes, ", but N = ", w.N,
                 ", K = ", w.K, " take ", extent);
  }
  return {};
}

Status validate(const WeightView& w) noexcept {
  if (Status s = check_view(w); !s) return s;
  if (w.K == 0) return {};
  const FpEnvironment environment;
  for (std::size_t row = 0; row < w.N; ++row) {
    if (const Fault fault = codec(w.dtype).check_row(w, row)) return fault_status(w.dtype, row, fault);
  }
  return {};
}

Status dequantize(const WeightView& w, std::size_t row0, MatrixView out) noexcept {
  if (Status s = check_view(w); !s) return s;
  if (Status s = check_matrix("out", out); !s) return s;
  if (out.cols != w.K) {
    return error(StatusCode::shape_mismatch, "out: cols = ", out.cols, ", but the weights have K = ", w.K);
  }
  if (row0 > w.N || out.rows > w.N - row0) {
    return error(StatusCode::shape_mismatch, "out: rows = ", out.rows, " from row0 = ", row0, " on, but N = ", w.N);
  }
  if (out.rows == 0 || out.cols == 0) return {};
  WeightView read = w;
  if (w.dtype != DType::bitnet_b158) {
    read.N = out.rows;
    read.data += row0 * w.stride(*row_bytes(w.dtype, w.K));
  }
  if (Status s = check_apart("out", runs_of(out), "the weights", runs_of(read)); !s) return s;
  const FpEnvironment environment;
  for (std::size_t row = 0; row < out.rows; ++row) {
    codec(w.dtype).decode_row(w, row0 + row, out.data + row * out.stride);
  }
  return {};
}

bool can_quantize(DType dtype) noexcept { return is_valid(dtype) && codec(dtype).encode != nullptr; }

Status quantize(DType dtype, ConstMatrixView x, std::span<std::byte> out) noexcept {
  const Result<std::size_t> bytes = tensor_bytes(dtype, x.rows, x.cols);
  if (!bytes) return bytes.status();
  if (!can_quantize(dtype)) return error(StatusCode::unsupported, to_string(dtype), ": has no encoder");
  if (Status s = check_matrix("x", x); !s) return s;
  if (out.size() < *bytes) {
    return error(StatusCode::buffer_too_small, "out: ", out.size(), " bytes, but ", to_string(dtype),
                 " with N = ", x.rows, ", K = ", x.cols, " takes ", *bytes);
  }
  if (Status s = check_apart("out", runs_of(out.first(*bytes)), "x", runs_of(x)); !s) return s;
  const FpEnvironment environment;
  if (Status s = check_values(codec(dtype), x); !s) return s;
  codec(dtype).encode(x, out.data());
  return {};
}

}  // namespace nibblas
