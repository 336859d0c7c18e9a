// SPDX-License-Identifier: Apache-2.0
#include "nibblas/import.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "formats/bitnet_b158.hpp"
#include "formats/i2_s.hpp"
#include "fp_environment.hpp"
#include "nibblas/formats.hpp"
#include "overlap.hpp"
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

std::size_t bytes_read(const I2sTensor& t) noexcept {
  return formats::BitnetB158::code_bytes(t.N * t.K) + (t.scale == I2sScale::tail ? kTailBytes : 0);
}

Status check_data(const I2sTensor& t) noexcept {
  const std::size_t needed = bytes_read(t);
  if (t.data.size() >= needed) return {};
  return error(StatusCode::buffer_too_small, "i2_s: data has ", t.data.size(), " bytes, but N = ", t.N, ", K = ", t.K,
               t.scale == I2sScale::tail ? " with the scale's tail take " : " take ", needed);
}

Result<float> scale_of(const I2sTensor& t) noexcept {
  if (t.scale == I2sScale::companion) {
    const float reciprocal = 1.0f / t.companion;
    if (formats::float_is_finite(t.companion) && formats::float_is_finite(reciprocal)) return reciprocal;
    return error(StatusCode::invalid_argument, "i2_s: the weights are divided by the companion scale, which is ",
                 t.companion, ": it must be finite and have a finite reciprocal");
  }
  float scale;
  std::memcpy(&scale, t.data.data() + t.N * t.K / 4 + (t.N * t.K % 4 != 0), sizeof scale);
  if (formats::float_is_finite(scale)) return scale;
  return error(StatusCode::invalid_data, "i2_s: the scale is ", scale);
}

constexpr std::uint64_t kPairs = 0x0303030303030303;  // the lowest pair of bits of each byte

/// Up to 8 bytes, the first lowest; the others are 0.
std::uint64_t load_bytes(const std::byte* p, std::size_t n) noexcept {
  std::uint64_t v = 0;
  std::memcpy(&v, p, n);
  return v;
}

/// Eight codes, the lowest bits of eight bytes, side by side in 16 bits.
std::uint64_t gather_codes(std::uint64_t v) noexcept {
  v &= kPairs;
  v = (v | v >> 6) & 0x000f000f000f000f;
  v = (v | v >> 12) & 0x000000ff000000ff;
  return (v | v >> 24) & 0xffff;
}

/// Any code 3 in the first n bytes, all of whose pairs are codes.
bool has_code_3(const std::byte* p, std::size_t n) noexcept {
  std::uint64_t threes = 0;
  for (; n >= 8; n -= 8, p += 8) {
    const std::uint64_t v = load_bytes(p, 8);
    threes |= v & v >> 1;
  }
  const std::uint64_t v = load_bytes(p, n);
  return ((threes | (v & v >> 1)) & 0x5555555555555555) != 0;
}

/// The codes of the last byte when it holds fewer than four, else 0.
std::byte incomplete_byte(const I2sTensor& t) noexcept {
  const std::size_t elements = t.N * t.K;
  if (elements % 4 == 0) return {};
  return t.data[elements / 4] & static_cast<std::byte>((1u << 2 * (elements % 4)) - 1);
}

Status check_codes(const I2sTensor& t) noexcept {
  const std::byte last = incomplete_byte(t);
  if (!has_code_3(t.data.data(), t.N * t.K / 4) && !has_code_3(&last, 1)) return {};
  // The first one in the order of the rows.
  for (std::size_t row = 0; row < t.N; ++row) {
    for (std::size_t k = 0; k < t.K; ++k) {
      if (formats::i2s_code(t, row, k) != 3) continue;
      return error(StatusCode::invalid_data, "i2_s: row ", row, ", element ", k, " has the code 3");
    }
  }
  return {};
}

/// Codes one after the other, the first in the lowest bits.
class CodeWriter {
 public:
  explicit CodeWriter(std::byte* out) noexcept : out_(out) {}
  void put8(std::uint64_t codes) noexcept {
    bits_ |= codes << filled_;
    std::memcpy(out_, &bits_, 2);
    out_ += 2;
    bits_ >>= 16;
  }
  /// n < 8; bits beyond them are 0.
  void put(std::uint64_t codes, std::size_t n) noexcept {
    bits_ |= codes << filled_;
    for (filled_ += 2 * static_cast<unsigned>(n); filled_ >= 8; filled_ -= 8, bits_ >>= 8) {
      *out_++ = static_cast<std::byte>(bits_);
    }
  }

 private:
  std::byte* out_;
  std::uint64_t bits_ = 0;
  unsigned filled_ = 0;  ///< bits, < 8 between calls
};

/// Groups of 4 * lane elements: byte j of `lane` holds elements j, lane + j, 2 * lane + j, 3 * lane + j from the high
/// bits down.
void write_groups(const I2sTensor& t, std::size_t lane, std::byte* out) noexcept {
  CodeWriter writer(out);
  const std::byte* group = t.data.data();
  for (std::size_t left = t.N * t.K; left != 0; left -= 4 * lane, group += lane) {
    for (unsigned shift = 8; shift != 0;) {
      shift -= 2;
      std::size_t j = 0;
      for (; j + 8 <= lane; j += 8) writer.put8(gather_codes(load_bytes(group + j, 8) >> shift));
      if (j < lane) writer.put(gather_codes(load_bytes(group + j, lane - j) >> shift), lane - j);
    }
  }
}

void write_codes(const I2sTensor& t, std::byte* out) noexcept {
  switch (t.layout) {
    case I2sLayout::group128:
      return write_groups(t, 32, out);
    case I2sLayout::group64:
      return write_groups(t, 16, out);
    case I2sLayout::rows4:  // four rows are a group
      return write_groups(t, t.K, out);
    case I2sLayout::sequential:
      break;
  }
  const std::size_t whole = t.N * t.K / 4;
  if (whole != 0) std::memcpy(out, t.data.data(), whole);
  if (t.N * t.K % 4 != 0) out[whole] = incomplete_byte(t);
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
  if (Status s =
          check_apart("out", runs_of(out.first(*bytes)), "tensor.data", runs_of(tensor.data.first(bytes_read(tensor))));
      !s)
    return s;
  const FpEnvironment environment;
  const Result<float> scale = scale_of(tensor);
  if (!scale) return scale.status();
  if (Status s = check_codes(tensor); !s) return s;
  write_codes(tensor, out.data());
  std::memcpy(out.data() + *bytes - sizeof(float), &*scale, sizeof(float));
  return {};
}

}  // namespace nibblas
