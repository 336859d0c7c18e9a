// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nibblas/dtype.hpp"
#include "nibblas/views.hpp"

namespace nibblas::test {

/// What weights are made of. The last ones are code bytes, whatever they decode to.
enum class WeightFill : std::uint8_t {
  gaussian,     ///< through the format's encoder
  blocks,       ///< random valid blocks, scales of both signs over two decades
  lowest,       ///< every code at its least value
  highest,      ///< every code at its greatest value
  alternating,  ///< the two in turn
  tiny,         ///< block scales are subnormal halves, 0 and -0
  ladder,       ///< every scale, also those of sub-blocks, differs from its neighbours
  bytes_00,
  bytes_ff,
  bytes_0f,
  bytes_f0,
  bytes_80,
  bytes_7f,
  bytes_5a,
};
inline constexpr std::size_t kWeightFillCount = 14;
const char* to_string(WeightFill fill) noexcept;

/// N x K weights that own their bytes.
class Weights {
 public:
  Weights() = default;
  /// Throws std::invalid_argument for a shape that the format does not have.
  Weights(DType dtype, std::size_t N, std::size_t K, WeightFill fill, std::uint64_t seed);

  DType dtype() const noexcept { return dtype_; }
  std::size_t N() const noexcept { return N_; }
  std::size_t K() const noexcept { return K_; }
  std::span<std::byte> bytes() noexcept { return bytes_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  WeightView view() const noexcept { return {dtype_, N_, K_, bytes_.data(), bytes_.size(), 0}; }
  /// The same weights in other memory, at least bytes().size() of it.
  WeightView view_at(const std::byte* memory) const noexcept { return {dtype_, N_, K_, memory, bytes_.size(), 0}; }

  /// Rows [first, first + count) as weights of their own.
  Weights rows(std::size_t first, std::size_t count) const;

  /// Replaces one scale in the middle of row n (an element, where there are no scales; bitnet_b158's only one).
  void spoil(std::size_t n, float value);

 private:
  Weights(DType dtype, std::size_t N, std::size_t K);
  void set_tiny(std::uint64_t seed);
  void set_ladder();

  DType dtype_ = DType::f32;
  std::size_t N_ = 0;
  std::size_t K_ = 0;
  std::vector<std::byte> bytes_;
};

/// Rows with garbage between them; not for bitnet_b158.
struct StridedWeights {
  std::vector<std::byte> bytes;
  WeightView view;
  StridedWeights(const Weights& dense, std::size_t gap);
};

/// W decoded to f32, [N][K].
std::vector<float> decode(const WeightView& w);

}  // namespace nibblas::test
