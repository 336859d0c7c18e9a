// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "gguf/layout.hpp"
#include "gguf/mapping.hpp"
#include "gguf/parser.hpp"
#include "gguf/types.hpp"
#include "immortal.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/gguf.hpp"

namespace nibblas::gguf {
namespace {

const DTypeInfo* dtype_of(std::uint32_t type) noexcept {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [type](const DTypeInfo& d) {
    return d.ggml_id >= 0 && static_cast<std::uint32_t>(d.ggml_id) == type;
  });
  return found == kDTypes.end() ? nullptr : &*found;
}

Status unsupported(const Tensor& tensor) {
  const std::string prefix = "tensor " + quoted(tensor.name) + ": ";
  if (tensor.type == kTypeI2s) {
    return {StatusCode::unsupported,
            prefix +
                "type 36 is i2_s in BitNet.cpp's files and iq4_nl_4_4 in old ggml ones, and the file does not say "
                "which; if it is i2_s, name its layout with i2s_tensor()"};
  }
  return {StatusCode::unsupported, prefix + "nibblas has no format " + tensor.type_name()};
}

struct Shape {
  std::size_t N;
  std::size_t K;
};

Result<Shape> shape_of(const Tensor& tensor) {
  const std::uint64_t K = tensor.ne.empty() ? 1 : tensor.ne[0];
  const auto N = element_count(tensor.ne.empty() ? std::span<const std::uint64_t>() : std::span(tensor.ne).subspan(1));
  if (!N || !std::in_range<std::size_t>(*N) || !std::in_range<std::size_t>(K)) {
    return Status(StatusCode::unsupported, "tensor " + quoted(tensor.name) + " is too large for this machine");
  }
  return Shape{static_cast<std::size_t>(*N), static_cast<std::size_t>(K)};
}

/// The one f32 of "<name>_scale".
Result<float> companion_of(const File& file, const Tensor& tensor) {
  const std::string name = tensor.name + "_scale";
  const Tensor* companion = file.find(name);
  if (companion == nullptr) {
    return Status(StatusCode::not_found, "tensor " + quoted(tensor.name) + " has no companion " + quoted(name));
  }
  if (companion->type != 0) {
    return Status(StatusCode::unsupported,
                  "tensor " + quoted(name) + " is " + companion->type_name() + ", a scale is one f32");
  }
  if (element_count(companion->ne) != 1u || companion->data.size() < sizeof(float)) {
    return Status(StatusCode::invalid_data, "tensor " + quoted(name) + " is not one element");
  }
  float scale;
  std::memcpy(&scale, companion->data.data(), sizeof scale);
  return scale;
}

Result<I2sTensor> i2s_of(const File& file, const Tensor& tensor, I2sLayout layout, I2sScale scale) {
  if (layout > I2sLayout::sequential) {
    return Status(StatusCode::invalid_argument, "i2_s: unknown layout " + std::to_string(static_cast<int>(layout)));
  }
  if (scale > I2sScale::companion) {
    return Status(StatusCode::invalid_argument, "i2_s: unknown scale " + std::to_string(static_cast<int>(scale)));
  }
  if (tensor.type != kTypeI2s) {
    return Status(StatusCode::unsupported,
                  "tensor " + quoted(tensor.name) + " is " + tensor.type_name() + ", not of type 36");
  }
  const auto shape = shape_of(tensor);
  if (!shape) return shape.status();
  I2sTensor t{layout, scale, shape->N, shape->K, tensor.data, 0};
  if (scale == I2sScale::companion) {
    const auto value = companion_of(file, tensor);
    if (!value) return value.status();
    t.companion = *value;
  }
  return t;
}

Result<WeightView> weights_of(const Tensor& tensor) {
  const DTypeInfo* dtype = dtype_of(tensor.type);
  if (dtype == nullptr) return unsupported(tensor);
  const auto bytes = tensor_bytes(tensor);
  if (!bytes) return bytes.status();
  if (tensor.data.size() < *bytes) {
    return Status(StatusCode::buffer_too_small, "tensor " + quoted(tensor.name) + " has " +
                                                    std::to_string(tensor.data.size()) + " bytes of " +
                                                    std::to_string(*bytes));
  }
  const auto shape = shape_of(tensor);
  if (!shape) return shape.status();
  return WeightView{dtype->dtype, shape->N, shape->K, tensor.data.data(), static_cast<std::size_t>(*bytes), 0};
}

template <class Items, class NameOf>
auto find_by_name(const Items& items, const std::vector<std::size_t>& index, std::string_view name,
                  NameOf name_of) noexcept -> const typename Items::value_type* {
  const auto found = std::lower_bound(index.begin(), index.end(), name,
                                      [&](std::size_t i, std::string_view n) { return name_of(items[i]) < n; });
  return found != index.end() && name_of(items[*found]) == name ? &items[*found] : nullptr;
}

}  // namespace

struct File::Impl {
  Mapping mapping;
  Contents contents;
};

std::string Tensor::type_name() const {
  const TypeInfo* info = find_type(type);
  return info != nullptr ? std::string(info->name) : "type " + std::to_string(type);
}

Result<WeightView> Tensor::weights() const {
  try {
    return weights_of(*this);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, {});
  }
}

Result<I2sTensor> i2s_tensor(const File& file, const Tensor& tensor, I2sLayout layout, I2sScale scale) noexcept {
  try {
    return i2s_of(file, tensor, layout, scale);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, {});
  }
}

Result<File> File::open(const std::string& path) noexcept {
  try {
    auto mapping = Mapping::open(path);
    if (!mapping) return mapping.status();
    auto contents = Parser(mapping->bytes()).parse();
    if (!contents) return Status(contents.status().code(), quoted_path(path) + ": " + contents.status().message());
    return File(std::make_unique<Impl>(Impl{std::move(mapping).value(), std::move(contents).value()}));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, {});
  }
}

Result<File> File::parse(std::span<const std::byte> bytes) noexcept {
  try {
    auto contents = Parser(bytes).parse();
    if (!contents) return contents.status();
    return File(std::make_unique<Impl>(Impl{Mapping(), std::move(contents).value()}));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::out_of_memory, {});
  }
}

/// What a file that was moved from holds.
const Contents& File::contents() const noexcept {
  static Immortal<const Contents> nothing;
  return impl_ != nullptr ? impl_->contents : nothing.get();
}

File::File(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

std::uint32_t File::version() const noexcept { return contents().version; }
std::uint64_t File::alignment() const noexcept { return contents().alignment; }
const std::vector<Tensor>& File::tensors() const noexcept { return contents().tensors; }
const std::vector<KeyValue>& File::metadata() const noexcept { return contents().metadata; }

const Tensor* File::find(std::string_view name) const noexcept {
  const Contents& c = contents();
  return find_by_name(c.tensors, c.tensors_by_name, name, [](const Tensor& t) { return std::string_view(t.name); });
}

const KeyValue* File::find_key(std::string_view key) const noexcept {
  const Contents& c = contents();
  return find_by_name(c.metadata, c.metadata_by_key, key, [](const KeyValue& kv) { return std::string_view(kv.key); });
}

}  // namespace nibblas::gguf
