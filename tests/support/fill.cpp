// SPDX-License-Identifier: Apache-2.0
#include "support/fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

#include "nibblas/formats.hpp"

namespace nibblas::test {
namespace {

void store_u16(std::byte* p, std::uint16_t v) noexcept { std::memcpy(p, &v, sizeof v); }
void store_f32(std::byte* p, float v) noexcept { std::memcpy(p, &v, sizeof v); }

/// Where things lie in a block of a format: half-precision scales, and which bytes are codes of which kind.
enum class CodeBytes : std::uint8_t {
  any,      ///< every byte value is valid; least and greatest are 0x00 and 0xff
  s8,       ///< two's complement; least and greatest are -128 and 127
  base3x5,  ///< five base-3 digits
  base3x4,  ///< four base-3 digits
  pairs3,   ///< four 2-bit codes 0..2
};
struct Field {
  std::size_t first;
  std::size_t count;
  CodeBytes kind;
};
struct BlockShape {
  std::size_t bytes;
  float scale;  ///< typical block scale, so that weights come out near 0.1
  std::vector<std::size_t> scales;
  std::vector<Field> fields;
};

BlockShape block_shape(DType t) {
  switch (t) {
    case DType::q8_0:
      return {34, 1e-3f, {0}, {{2, 32, CodeBytes::s8}}};
    case DType::q4_0:
      return {18, 2e-2f, {0}, {{2, 16, CodeBytes::any}}};
    case DType::q4_k:
      return {144, 3e-4f, {0, 2}, {{4, 140, CodeBytes::any}}};
    case DType::q5_k:
      return {176, 2e-4f, {0, 2}, {{4, 172, CodeBytes::any}}};
    case DType::q6_k:
      return {210, 1e-4f, {208}, {{0, 192, CodeBytes::any}, {192, 16, CodeBytes::s8}}};
    case DType::tq1_0:
      return {54, 1e-1f, {52}, {{0, 48, CodeBytes::base3x5}, {48, 4, CodeBytes::base3x4}}};
    case DType::tq2_0:
      return {66, 1e-1f, {64}, {{0, 64, CodeBytes::pairs3}}};
    default:
      return {0, 0, {}, {}};
  }
}

/// Digits as a fraction of 256: the smallest byte from which repeated multiplication by 3 gives them back.
std::byte base3_byte(unsigned v) noexcept { return static_cast<std::byte>((v * 256u + 242u) / 243u); }

std::byte code_byte(CodeBytes kind, Codes codes, std::size_t index, Random& random) noexcept {
  const bool high = codes == Codes::highest || (codes == Codes::alternating && index % 2 == 1);
  const bool any = codes == Codes::random;
  switch (kind) {
    case CodeBytes::any:
      return static_cast<std::byte>(any ? random.next() >> 56 : high ? 0xffu : 0u);
    case CodeBytes::s8:
      return static_cast<std::byte>(any ? random.next() >> 56 : high ? 0x7fu : 0x80u);
    case CodeBytes::base3x5:
      return base3_byte(any ? static_cast<unsigned>(random.below(243)) : high ? 242u : 0u);
    case CodeBytes::base3x4:
      return base3_byte(3u * (any ? static_cast<unsigned>(random.below(81)) : high ? 80u : 0u));
    case CodeBytes::pairs3: {
      if (!any) return static_cast<std::byte>(high ? 0xaau : 0u);
      unsigned v = static_cast<unsigned>(random.below(81));
      unsigned byte = 0;
      for (unsigned shift = 0; shift < 8; shift += 2, v /= 3) byte |= v % 3 << shift;
      return static_cast<std::byte>(byte);
    }
  }
  return std::byte{0};
}

/// Two decades around `typical`. Only exact operations, so that every machine makes the same bits.
float signed_scale(float typical, Random& random) noexcept {
  const float mantissa = 1.0f + static_cast<float>(random.below(1024)) / 1024.0f;
  const float sign = (random.next() >> 63) != 0 ? -1.0f : 1.0f;
  return std::ldexp(sign * typical * mantissa, static_cast<int>(random.below(7)) - 4);
}

void fill_floats(DType t, std::size_t n, Codes codes, Random& random, std::byte* out) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const bool high = codes == Codes::highest || (codes == Codes::alternating && i % 2 == 1);
    const float v = codes == Codes::random ? 0.1f * random.gaussian() : high ? 65504.0f : -65504.0f;
    if (t == DType::f32) {
      store_f32(out + i * 4, v);
    } else {
      store_u16(out + i * 2, t == DType::f16 ? f32_to_f16(v) : f32_to_bf16(v));
    }
  }
}

void fill_bitnet(std::size_t n, Codes codes, Random& random, std::byte* out) noexcept {
  const std::size_t bytes = n / 4 + (n % 4 != 0);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = code_byte(CodeBytes::pairs3, codes, i, random);
  if (n % 4 != 0) out[bytes - 1] &= static_cast<std::byte>((1u << (2 * (n % 4))) - 1);
  store_f32(out + bytes, signed_scale(0.1f, random));
}

}  // namespace

std::uint64_t Random::next() noexcept {  // splitmix64
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float Random::gaussian() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const float radius = std::sqrt(-2.0f * std::log(static_cast<float>(1.0 - uniform() * (1 - 0x1p-24))));
  const float angle = 2.0f * std::numbers::pi_v<float> * static_cast<float>(uniform());
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void fill_gaussian(MatrixView out, std::uint64_t seed) noexcept {
  Random random(seed);
  for (std::size_t r = 0; r < out.rows; ++r) {
    for (std::size_t c = 0; c < out.cols; ++c) out.data[r * out.stride + c] = random.gaussian();
  }
}

void fill_gaussian_with_outliers(MatrixView out, std::uint64_t seed) noexcept {
  fill_gaussian(out, seed);
  for (std::size_t r = 0; r < out.rows; ++r) {
    for (std::size_t c = 0; c < out.cols; c += kOutlierStep) out.data[r * out.stride + c] *= kOutlierFactor;
  }
}

Status fill_blocks(DType dtype, std::size_t N, std::size_t K, std::uint64_t seed, Codes codes,
                   std::span<std::byte> out) {
  const Result<std::size_t> bytes = tensor_bytes(dtype, N, K);
  if (!bytes) return bytes.status();
  if (out.size() < *bytes) {
    return {StatusCode::buffer_too_small,
            "fill needs " + std::to_string(*bytes) + " bytes, has " + std::to_string(out.size())};
  }
  Random random(seed);
  if (dtype == DType::bitnet_b158) {
    fill_bitnet(N * K, codes, random, out.data());
    return {};
  }
  const BlockShape shape = block_shape(dtype);
  if (shape.bytes == 0) {
    fill_floats(dtype, N * K, codes, random, out.data());
    return {};
  }
  for (std::byte* block = out.data(); block != out.data() + *bytes; block += shape.bytes) {
    for (const Field& f : shape.fields) {
      for (std::size_t i = 0; i < f.count; ++i) block[f.first + i] = code_byte(f.kind, codes, i, random);
    }
    for (const std::size_t at : shape.scales) store_u16(block + at, f32_to_f16(signed_scale(shape.scale, random)));
  }
  return {};
}

Status fill_code_bytes(DType dtype, std::size_t N, std::size_t K, std::uint64_t seed, std::byte value,
                       std::span<std::byte> out) {
  if (Status s = fill_blocks(dtype, N, K, seed, Codes::random, out); !s) return s;
  if (dtype == DType::bitnet_b158) std::fill_n(out.begin(), N * K / 4 + (N * K % 4 != 0), value);
  const BlockShape shape = block_shape(dtype);
  if (shape.bytes == 0) return {};
  const std::size_t bytes = *tensor_bytes(dtype, N, K);
  for (std::byte* block = out.data(); block != out.data() + bytes; block += shape.bytes) {
    for (const Field& f : shape.fields) std::fill_n(block + f.first, f.count, value);
  }
  return {};
}

std::vector<std::size_t> scale_offsets(DType dtype) { return block_shape(dtype).scales; }

Status fill_weights(DType dtype, std::size_t N, std::size_t K, std::uint64_t seed, std::span<std::byte> out) {
  if (dtype == DType::bitnet_b158) return fill_blocks(dtype, N, K, seed, Codes::random, out);
  const Result<std::size_t> row = row_bytes(dtype, K);
  if (!row) return row.status();
  const std::size_t distinct = std::min(N, kEncodedRows);
  if (out.size() / std::max<std::size_t>(*row, 1) < N) {
    return {StatusCode::buffer_too_small, "fill needs " + std::to_string(N) + " rows of " + std::to_string(*row) +
                                              " bytes, has " + std::to_string(out.size()) + " bytes"};
  }
  if (can_quantize(dtype)) {
    std::vector<float> x(distinct * K);
    fill_gaussian({x.data(), distinct, K}, seed);
    for (float& v : x) v *= 0.1f;
    if (Status s = quantize(dtype, {x.data(), distinct, K}, out.first(distinct * *row)); !s) return s;
  } else if (Status s = fill_blocks(dtype, distinct, K, seed, Codes::random, out.first(distinct * *row)); !s) {
    return s;
  }
  for (std::size_t r = distinct; r < N; r += distinct) {
    std::memcpy(out.data() + r * *row, out.data(), std::min(distinct, N - r) * *row);
  }
  return {};
}

}  // namespace nibblas::test
