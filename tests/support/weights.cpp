// SPDX-License-Identifier: Apache-2.0
#include "support/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "nibblas/formats.hpp"
#include "support/fill.hpp"

namespace nibblas::test {
namespace {

void require(const Status& s) {
  if (!s) throw std::invalid_argument(s.message());
}

void store_u16(std::byte* p, std::uint16_t v) noexcept { std::memcpy(p, &v, sizeof v); }

/// A value of one of the formats without blocks.
void store_element(DType t, std::byte* p, float v) noexcept {
  if (t == DType::f32) {
    std::memcpy(p, &v, sizeof v);
  } else {
    store_u16(p, t == DType::f16 ? f32_to_f16(v) : f32_to_bf16(v));
  }
}

bool is_plain(DType t) noexcept { return info(t).block_elems == 1 && t != DType::bitnet_b158; }

std::byte byte_of(WeightFill fill) noexcept {
  switch (fill) {
    case WeightFill::bytes_ff:
      return std::byte{0xff};
    case WeightFill::bytes_0f:
      return std::byte{0x0f};
    case WeightFill::bytes_f0:
      return std::byte{0xf0};
    case WeightFill::bytes_80:
      return std::byte{0x80};
    case WeightFill::bytes_7f:
      return std::byte{0x7f};
    case WeightFill::bytes_5a:
      return std::byte{0x5a};
    default:
      return std::byte{0};
  }
}

std::size_t code_bytes(std::size_t n) noexcept { return n / 4 + (n % 4 != 0); }

unsigned code_at(const std::byte* codes, std::size_t i) noexcept {
  return std::to_integer<unsigned>(codes[i / 4]) >> (2 * (i % 4)) & 3u;
}

/// Eight scales and minimums, all different, as q4_k and q5_k store them.
void store_k_scales(std::byte* scales, unsigned first) noexcept {
  unsigned bytes[12] = {};
  for (unsigned s = 0; s < 8; ++s) {
    const unsigned sc = (first + 7 * s) % 64;
    const unsigned m = (first + 29 + 11 * s) % 64;
    if (s < 4) {
      bytes[s] |= sc;
      bytes[s + 4] |= m;
    } else {
      bytes[s + 4] |= (sc & 15) | (m & 15) << 4;
      bytes[s - 4] |= sc >> 4 << 6;
      bytes[s] |= m >> 4 << 6;
    }
  }
  for (unsigned i = 0; i < 12; ++i) scales[i] = static_cast<std::byte>(bytes[i]);
}

}  // namespace

const char* to_string(WeightFill fill) noexcept {
  constexpr const char* names[kWeightFillCount] = {"gaussian", "blocks",   "lowest",   "highest",  "alternating",
                                                   "tiny",     "ladder",   "bytes_00", "bytes_ff", "bytes_0f",
                                                   "bytes_f0", "bytes_80", "bytes_7f", "bytes_5a"};
  return names[static_cast<std::size_t>(fill)];
}

Weights::Weights(DType dtype, std::size_t N, std::size_t K) : dtype_(dtype), N_(N), K_(K) {
  const Result<std::size_t> bytes = tensor_bytes(dtype, N, K);
  require(bytes.status());
  bytes_.resize(*bytes);
}

Weights::Weights(DType dtype, std::size_t N, std::size_t K, WeightFill fill, std::uint64_t seed)
    : Weights(dtype, N, K) {
  switch (fill) {
    case WeightFill::gaussian:
      require(fill_weights(dtype, N, K, seed, bytes_));
      break;
    case WeightFill::lowest:
      require(fill_blocks(dtype, N, K, seed, Codes::lowest, bytes_));
      break;
    case WeightFill::highest:
      require(fill_blocks(dtype, N, K, seed, Codes::highest, bytes_));
      break;
    case WeightFill::alternating:
      require(fill_blocks(dtype, N, K, seed, Codes::alternating, bytes_));
      break;
    case WeightFill::blocks:
    case WeightFill::tiny:
    case WeightFill::ladder:
      require(fill_blocks(dtype, N, K, seed, Codes::random, bytes_));
      if (fill == WeightFill::tiny) set_tiny(seed);
      if (fill == WeightFill::ladder) set_ladder();
      break;
    default:
      require(fill_code_bytes(dtype, N, K, seed, byte_of(fill), bytes_));
  }
}

void Weights::set_tiny(std::uint64_t seed) {
  Random random(seed);
  // Zeros of both signs, subnormal halves of all sizes, the smallest normal one.
  const auto half = [&random] {
    const auto sign = static_cast<unsigned>(random.below(2)) << 15;
    const std::size_t kind = random.below(8);
    const unsigned magnitude = kind == 0 ? 0u : kind == 1 ? 0x0400u : static_cast<unsigned>(1 + random.below(0x3ff));
    return static_cast<std::uint16_t>(sign | magnitude);
  };
  if (dtype_ == DType::bitnet_b158) {
    const float scale = 3e-40f;
    std::memcpy(bytes_.data() + bytes_.size() - sizeof scale, &scale, sizeof scale);
  } else if (dtype_ == DType::f16) {
    for (std::size_t i = 0; i < N_ * K_; ++i) store_u16(bytes_.data() + 2 * i, half());
  } else if (is_plain(dtype_)) {
    for (std::size_t i = 0; i < N_ * K_; ++i) {
      store_element(dtype_, bytes_.data() + i * info(dtype_).block_bytes, f16_to_f32(half()) * 0x1p-110f);
    }
  } else {
    const std::vector<std::size_t> scales = scale_offsets(dtype_);
    for (std::size_t at = 0; at < bytes_.size(); at += info(dtype_).block_bytes) {
      for (const std::size_t s : scales) store_u16(bytes_.data() + at + s, half());
    }
  }
}

void Weights::set_ladder() {
  const DTypeInfo& t = info(dtype_);
  if (dtype_ == DType::bitnet_b158) return;
  if (is_plain(dtype_)) {
    for (std::size_t i = 0; i < N_ * K_; ++i) {
      const auto step = static_cast<float>((i / K_ * 131 + i % K_ * 7) % 2048);
      store_element(dtype_, bytes_.data() + i * t.block_bytes, (step - 1024) / 1024);
    }
    return;
  }
  const std::vector<std::size_t> scales = scale_offsets(dtype_);
  const std::size_t blocks = K_ / t.block_elems;
  for (std::size_t i = 0; i < N_ * blocks; ++i) {
    std::byte* block = bytes_.data() + i * t.block_bytes;
    float d = 0x1p-8f * (1 + static_cast<float>(i % 64) / 64);
    for (const std::size_t at : scales) {
      store_u16(block + at, f32_to_f16(d));
      d *= -3;
    }
    if (dtype_ == DType::q4_k || dtype_ == DType::q5_k) store_k_scales(block + 4, static_cast<unsigned>(i % 64));
    if (dtype_ == DType::q6_k) {
      for (std::size_t s = 0; s < 16; ++s) block[192 + s] = static_cast<std::byte>((i * 5 + s * 37) % 256);
    }
  }
}

Weights Weights::rows(std::size_t first, std::size_t count) const {
  if (first + count > N_) throw std::invalid_argument("rows past N");
  Weights out(dtype_, count, K_);
  if (dtype_ != DType::bitnet_b158) {
    const std::size_t row = *row_bytes(dtype_, K_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(first * row), count * row, out.bytes_.begin());
    return out;
  }
  for (std::size_t i = 0; i < count * K_; ++i) {
    out.bytes_[i / 4] |= static_cast<std::byte>(code_at(bytes_.data(), first * K_ + i) << (2 * (i % 4)));
  }
  std::memcpy(out.bytes_.data() + code_bytes(count * K_), bytes_.data() + code_bytes(N_ * K_), sizeof(float));
  return out;
}

void Weights::spoil(std::size_t n, float value) {
  if (dtype_ == DType::bitnet_b158) {
    std::memcpy(bytes_.data() + code_bytes(N_ * K_), &value, sizeof value);
    return;
  }
  const DTypeInfo& t = info(dtype_);
  std::byte* block = bytes_.data() + n * *row_bytes(dtype_, K_) + K_ / t.block_elems / 2 * t.block_bytes;
  if (is_plain(dtype_)) {
    store_element(dtype_, block, value);
  } else {
    store_u16(block + scale_offsets(dtype_).front(), f32_to_f16(value));
  }
}

StridedWeights::StridedWeights(const Weights& dense, std::size_t gap) {
  const std::size_t row = *row_bytes(dense.dtype(), dense.K());
  const std::size_t stride = row + gap;
  bytes.assign(dense.N() * stride, std::byte{0xff});
  for (std::size_t n = 0; n < dense.N(); ++n) {
    std::copy_n(dense.bytes().data() + n * row, row, bytes.data() + n * stride);
  }
  bytes.resize(bytes.size() - gap);  // nothing follows the last row
  view = {dense.dtype(), dense.N(), dense.K(), bytes.data(), bytes.size(), stride};
}

std::vector<float> decode(const WeightView& w) {
  std::vector<float> out(w.N * w.K);
  require(dequantize(w, 0, {out.data(), w.N, w.K}));
  return out;
}

}  // namespace nibblas::test
