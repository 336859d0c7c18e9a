// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "nibblas/buffer.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/export.hpp"
#include "nibblas/panel.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

namespace nibblas {

struct Context;
struct MatmulOptions;

/// Weights in a layout that kernels read directly: by default 16-row panels, the same bytes for every provider and
/// architecture. bytes() may be saved, and mapped again with from_bytes().
class NIBBLAS_API PackedWeights {
 public:
  PackedWeights() noexcept = default;
  /// What was moved from is empty.
  PackedWeights(PackedWeights&& other) noexcept { swap(other); }
  PackedWeights& operator=(PackedWeights&& other) noexcept {
    PackedWeights taken(std::move(other));
    swap(taken);
    return *this;
  }
  void swap(PackedWeights& other) noexcept;

  /// Panels of w, made on the context's executor. If the kernel that a product would get has a layout of its own, which
  /// only providers from outside have, in that: it alone reads them, on rows of X, not on prepared activations.
  static Result<PackedWeights> pack(const WeightView& w, Context& context, const MatmulOptions& options) noexcept;
  static Result<PackedWeights> pack(const WeightView& w, Context& context) noexcept;
  /// A saved image; `image` stays the caller's, must outlive the result and be 64-byte aligned. Checks the header and
  /// the extent; the extent of a layout from outside is checked by its kernel, when a product is asked for. Errors:
  /// invalid_data (not such an image, other version, wrong size, reserved bytes that are not 0), shape_mismatch (a
  /// shape that the format cannot have), invalid_argument (alignment).
  static Result<PackedWeights> from_bytes(std::span<const std::byte> image) noexcept;

  DType dtype() const noexcept { return dtype_; }
  std::size_t N() const noexcept { return N_; }
  std::size_t K() const noexcept { return K_; }
  std::uint32_t layout_id() const noexcept { return layout_id_; }
  std::uint16_t layout_version() const noexcept { return layout_version_; }
  /// Header and weights, to save.
  std::span<const std::byte> bytes() const noexcept { return image_; }
  /// The weights alone, 64-byte aligned.
  const std::byte* data() const noexcept { return image_.data() + kHeaderBytes; }
  const std::byte* panel(std::size_t p) const noexcept { return data() + p * panel_layout(dtype_).panel_bytes(K_); }

  static constexpr std::size_t kHeaderBytes = 64;

 private:
  DType dtype_ = DType::f32;
  std::size_t N_ = 0;
  std::size_t K_ = 0;
  std::uint32_t layout_id_ = 0;
  std::uint16_t layout_version_ = 0;
  std::span<const std::byte> image_;
  Buffer buffer_;
};

/// Bytes of PackedWeights::bytes() for 16-row panels; the errors of tensor_bytes().
NIBBLAS_API Result<std::size_t> packed_bytes(DType dtype, std::size_t N, std::size_t K) noexcept;

}  // namespace nibblas
