// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibblas/dtype.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

// Seeded data: the same on every machine and compiler up to the last bit of log and cos.

namespace nibblas::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept;
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< [0, 1)
  float gaussian() noexcept;                                                         ///< mean 0, deviation 1
  std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
  float spare_ = 0;
  bool has_spare_ = false;
};

void fill_gaussian(MatrixView out, std::uint64_t seed) noexcept;

/// Every kOutlierStep-th channel (column) is kOutlierFactor times as large: what activations of real models look like.
inline constexpr std::size_t kOutlierStep = 211;
inline constexpr float kOutlierFactor = 8;
void fill_gaussian_with_outliers(MatrixView out, std::uint64_t seed) noexcept;

/// The codes of a block: anything the format allows, all at their least value, all at their greatest, or the two in
/// turn. Stored sub-block scales follow.
enum class Codes : std::uint8_t { random, lowest, highest, alternating };

/// Valid blocks without an encoder: dense N x K weights. Block scales have both signs and span two decades, so that
/// decoded weights are about 0.01 to 1 in size for random codes. f32, f16 and bf16: random values are Gaussian, the
/// extreme ones -+65504. out.size() >= tensor_bytes(dtype, N, K); errors of tensor_bytes, buffer_too_small.
Status fill_blocks(DType dtype, std::size_t N, std::size_t K, std::uint64_t seed, Codes codes,
                   std::span<std::byte> out);

/// fill_blocks, with every code byte (stored sub-block scales too) `value`, whatever it decodes to. f32, f16 and bf16
/// have no codes and come out random.
Status fill_code_bytes(DType dtype, std::size_t N, std::size_t K, std::uint64_t seed, std::byte value,
                       std::span<std::byte> out);

/// Where the f16 scales lie in a block of the format; none for f32, f16, bf16 and bitnet_b158.
std::vector<std::size_t> scale_offsets(DType dtype);

/// Gaussian weights through the format's encoder if it has one, else random blocks. Rows repeat with a prime period of
/// kEncodedRows, so that big tensors are made fast and yet no two panels are equal.
inline constexpr std::size_t kEncodedRows = 1021;
Status fill_weights(DType dtype, std::size_t N, std::size_t K, std::uint64_t seed, std::span<std::byte> out);

}  // namespace nibblas::test
