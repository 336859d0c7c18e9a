// SPDX-License-Identifier: Apache-2.0
#include "nibblas/packed.hpp"

#include <cstring>

#include "fp_environment.hpp"
#include "nibblas/formats.hpp"
#include "product.hpp"
#include "status_message.hpp"
#include "whole.hpp"

namespace nibblas {
namespace {

/// The first 64 bytes of a packed image, little-endian.
struct ImageHeader {
  char magic[8];
  std::uint32_t header_version;
  std::uint32_t dtype;
  std::uint32_t layout_id;
  std::uint16_t layout_version;
  std::uint16_t reserved16;
  std::uint64_t N;
  std::uint64_t K;
  std::uint64_t payload_bytes;
  std::uint64_t reserved[2];
};
static_assert(sizeof(ImageHeader) == PackedWeights::kHeaderBytes);
constexpr char kMagic[8] = {'N', 'I', 'B', 'P', 'A', 'C', 'K', 0};
constexpr std::uint32_t kHeaderVersion = 1;

struct PackJob {
  const WeightView* w;
  const Kernel* kernel;
  std::byte* out;
  std::size_t panel_bytes;
};

void pack_panel(void* arg, std::size_t i) noexcept {
  const auto& job = *static_cast<const PackJob*>(arg);
  const FpEnvironment env;
  job.kernel->tiled.pack({job.w, i * kPanelRows, 0, job.w->K, job.out + i * job.panel_bytes});
}

Status out_of_memory(std::size_t bytes) noexcept {
  return error(StatusCode::out_of_memory, "no memory for ", bytes, " bytes of packed weights");
}

template <class... Parts>
Status invalid(const Parts&... why) noexcept {
  return error(StatusCode::invalid_data, "packed image: ", why...);
}

/// Payload of N x K in 16-row panels; the shape is already checked.
Result<std::size_t> panels_payload(DType dtype, std::size_t N, std::size_t K) noexcept {
  // The bytes of a panel wrap before those of a row of the file do.
  const bool long_rows = K > kMaxElements;
  const std::size_t panel = long_rows ? 0 : panel_layout(dtype).panel_bytes(K);
  const std::size_t panels = panel_count(N);
  if (long_rows || (panel != 0 && panels > (SIZE_MAX >> 1) / panel)) {
    return error(StatusCode::shape_mismatch, "packed size of ", N, " x ", K, " overflows");
  }
  return panels * panel;
}

}  // namespace

Result<std::size_t> packed_bytes(DType dtype, std::size_t N, std::size_t K) noexcept {
  if (const Result<std::size_t> file = tensor_bytes(dtype, N, K); !file) return file.status();
  const Result<std::size_t> payload = panels_payload(dtype, N, K);
  if (!payload) return payload.status();
  return *payload + PackedWeights::kHeaderBytes;
}

void PackedWeights::swap(PackedWeights& other) noexcept {
  std::swap(dtype_, other.dtype_);
  std::swap(N_, other.N_);
  std::swap(K_, other.K_);
  std::swap(layout_id_, other.layout_id_);
  std::swap(layout_version_, other.layout_version_);
  std::swap(image_, other.image_);
  std::swap(buffer_, other.buffer_);
}

Result<PackedWeights> PackedWeights::pack(const WeightView& w, Context& context) noexcept {
  return pack(w, context, {});
}

Result<PackedWeights> PackedWeights::pack(const WeightView& w, Context& context,
                                          const MatmulOptions& options) noexcept {
  if (Status s = check_view(w); !s) return s;
  const WeightSource source{&w, nullptr};
  Result<const Kernel*> kernel = choose_kernel(context, request_for(source, 2, options));
  if (!kernel) return kernel.status();
  const bool own_layout = !(*kernel)->is_tiled() && (*kernel)->whole.pack != nullptr;
  if (!own_layout && !(*kernel)->is_tiled()) {
    kernel = choose_tiled(context, w.dtype, resolve_compute(w.dtype, options.compute));
    if (!kernel) return kernel.status();
  }
  const WholeKernel& whole = (*kernel)->whole;
  const Result<std::size_t> payload =
      own_layout ? own_packed_bytes(**kernel, w.dtype, w.N, w.K) : panels_payload(w.dtype, w.N, w.K);
  if (!payload) return payload.status();

  PackedWeights out;
  out.buffer_ = Buffer(*payload + kHeaderBytes);
  if (out.buffer_.data() == nullptr) return out_of_memory(*payload);
  out.image_ = {out.buffer_.data(), *payload + kHeaderBytes};
  out.dtype_ = w.dtype;
  out.N_ = w.N;
  out.K_ = w.K;
  out.layout_id_ = own_layout ? whole.layout_id : panel_layout(w.dtype).id;
  out.layout_version_ = own_layout ? whole.layout_version : panel_layout(w.dtype).version;
  ImageHeader header{{},
                     kHeaderVersion,
                     static_cast<std::uint32_t>(w.dtype),
                     out.layout_id_,
                     out.layout_version_,
                     0,
                     w.N,
                     w.K,
                     *payload,
                     {}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::memcpy(out.buffer_.data(), &header, sizeof header);
  std::byte* data = out.buffer_.data() + kHeaderBytes;
  if (own_layout) {
    if (Status s = pack_own(**kernel, w, data); !s) return s;
    return out;
  }
  if (w.K == 0) {  // nothing to pack, yet a panel may have a tail
    std::memset(data, 0, *payload);
    return out;
  }
  PackJob job{&w, *kernel, data, panel_layout(w.dtype).panel_bytes(w.K)};
  executor_of(context).parallel_for(panel_count(w.N), {pack_panel, &job});
  return out;
}

Result<PackedWeights> PackedWeights::from_bytes(std::span<const std::byte> image) noexcept {
  if (image.size() < kHeaderBytes) return invalid(image.size(), " bytes are less than its header");
  if (reinterpret_cast<std::uintptr_t>(image.data()) % 64 != 0) {
    return error(StatusCode::invalid_argument, "packed image: not 64-byte aligned");
  }
  ImageHeader h;
  std::memcpy(&h, image.data(), sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0) return invalid("no nibblas magic");
  if (h.header_version != kHeaderVersion) return invalid("header version ", h.header_version);
  if (h.reserved16 != 0 || h.reserved[0] != 0 || h.reserved[1] != 0) return invalid("reserved bytes are not 0");
  if (h.dtype >= kDTypeCount) return invalid("unknown format ", h.dtype);
  const auto dtype = static_cast<DType>(h.dtype);
  if (h.payload_bytes != image.size() - kHeaderBytes) {
    return invalid("header says ", h.payload_bytes, " bytes of weights, the image has ", image.size() - kHeaderBytes);
  }
  // Of a layout from outside only its kernel knows the bytes; that the shape is one of the format holds for all.
  const Result<std::size_t> wanted = packed_bytes(dtype, h.N, h.K);
  if (h.layout_id < kFirstForeignLayout) {
    const PanelLayout& layout = panel_layout(dtype);
    if (h.layout_id != layout.id || h.layout_version != layout.version) {
      return invalid("layout ", h.layout_id, " version ", h.layout_version, "; this build reads ", layout.id,
                     " version ", layout.version);
    }
    if (wanted && *wanted != image.size()) {
      return invalid(h.N, " x ", h.K, " needs ", *wanted, " bytes, the image has ", image.size());
    }
  }
  if (!wanted) return wanted.status();
  PackedWeights out;
  out.dtype_ = dtype;
  out.N_ = h.N;
  out.K_ = h.K;
  out.layout_id_ = h.layout_id;
  out.layout_version_ = h.layout_version;
  out.image_ = image;
  return out;
}

}  // namespace nibblas
