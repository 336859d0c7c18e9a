// SPDX-License-Identifier: Apache-2.0
#include "nibblas/import.hpp"

#include <cmath>
#include <cstring>

#include "formats/bitnet_b158.hpp"
#include "formats/i2_s.hpp"
#include "fp_environment.hpp"
#include "nibblas/formats.hpp"
#include "status_message.hpp"

namespace nibblas {
namespace {

constexpr std::size_t kTailBytes = 32;

Status check_layout(const I2sTensor& t) noexcept {
  const auto whole = [&](std::size_t group) -> Status {
    if (t.N * t.K % group == 0) return {};
    return error(StatusCode::shape_mismatch, "i2_s: N = ", t.N, ", K = ", t.K, " are no whole groups of ", group);
  };
  switch (t.layout) {
    case I2sLayout::group128:
      return whole(128);
    case I2sLayout::group64:
      return whole(64);
    case I2sLayout::rows4:
      if (t.N % 4 == 0) return {};
      return error(StatusCode::shape_mismatch, "i2_s: N = ", t.N, " is no multiple of the 4 rows in a byte");
    case I2sLayout::sequential:
      return {};
  }
  return error(StatusCode::invalid_argument, "i2_s: unknown layout ", static_cast<unsigned>(t.layout));
}

Status check_data(const I2sTensor& t) noexcept {
  std::size_t needed = formats::BitnetB158::code_bytes(t.N * t.K);
  if (t.scale == I2sScale::tail) needed += kTailBytes;
  if (t.data.size() >= needed) return {};
  return error(StatusCode::buffer_too_small, "i2_s: data has ", t.data.size(), " bytes, but N = ", t.N, ", K = ", t.K,
               t.scale == I2sScale::tail ? " with the scale's tail take " : " take ", needed);
}

Result<float> scale_of(const I2sTensor& t) noexcept {
  if (t.scale == I2sScale::companion) {
    const float reciprocal = 1.0f / t.companion;
    if (formats::float_is_finite(t.companion) && formats::float_is_finite(reciprocal)) return reciprocal;
    return error(StatusCode::invalid_argument, "i2_s: no weights are divided by a companion scale of ", t.companion);
  }
  float scale;
  std::memcpy(&scale, t.data.data() + t.N * t.K / 4 + (t.N * t.K % 4 != 0), sizeof scale);
  if (formats::float_is_finite(scale)) return scale;
  return error(StatusCode::invalid_data, "i2_s: the scale is ", scale);
}

Status check_codes(const I2sTensor& t) noexcept {
  for (std::size_t row = 0; row < t.N; ++row) {
    for (std::size_t k = 0; k < t.K; ++k) {
      if (formats::i2s_code(t, row, k) != 3) continue;
      return error(StatusCode::invalid_data, "i2_s: row ", row, ", element ", k, " has the code 3");
    }
  }
  return {};
}

void write_codes(const I2sTensor& t, std::byte* out) noexcept {
  unsigned bits = 0;
  unsigned filled = 0;
  for (std::size_t row = 0; row < t.N; ++row) {
    for (std::size_t k = 0; k < t.K; ++k) {
      bits |= formats::i2s_code(t, row, k) << (2 * filled);
      if (++filled != 4) continue;
      *out++ = static_cast<std::byte>(bits);
      bits = 0;
      filled = 0;
    }
  }
  if (filled != 0) *out = static_cast<std::byte>(bits);
}

}  // namespace

Status import_i2s(const I2sTensor& tensor, std::span<std::byte> out) noexcept {
  if (tensor.scale != I2sScale::tail && tensor.scale != I2sScale::companion) {
    return error(StatusCode::invalid_argument, "i2_s: unknown scale ", static_cast<unsigned>(tensor.scale));
  }
  const Result<std::size_t> bytes = tensor_bytes(DType::bitnet_b158, tensor.N, tensor.K);
  if (!bytes) return bytes.status();
  if (Status s = check_layout(tensor); !s) return s;
  if (Status s = check_data(tensor); !s) return s;
  if (out.size() < *bytes) {
    return error(StatusCode::buffer_too_small, "out: ", out.size(), " bytes, but N = ", tensor.N, ", K = ", tensor.K,
                 " take ", *bytes);
  }
  const FpEnvironment environment;
  const Result<float> scale = scale_of(tensor);
  if (!scale) return scale.status();
  if (Status s = check_codes(tensor); !s) return s;
  write_codes(tensor, out.data());
  std::memcpy(out.data() + *bytes - sizeof(float), &*scale, sizeof(float));
  return {};
}

}  // namespace nibblas
