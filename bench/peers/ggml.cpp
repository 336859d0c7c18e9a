// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "copies.hpp"
#include "nibblas/formats.hpp"
#include "peers/ggml_api.hpp"
#include "peers/peer.hpp"

namespace nibblas::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInPackage = "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64";
constexpr std::string_view kPrefix = "libggml-cpu-";
constexpr std::string_view kRepacked = "repacked";
constexpr std::size_t kGraphNodes = 8;  // of one product: W, X and Y
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// ggml has no bitnet_b158; tq2_0 holds the same codes with a scale per 256.
DType peer_format(DType t) { return t == DType::bitnet_b158 ? DType::tq2_0 : t; }

int to_int(std::size_t n) { return static_cast<int>(n); }
std::int64_t to_i64(std::size_t n) { return static_cast<std::int64_t>(n); }

class GgmlPeer final : public Peer {
 public:
  explicit GgmlPeer(const PeerOptions& options) : options_(options) {
    if (options_.dir.empty()) options_.dir = NIBBLAS_BENCH_PEER_DIR;
  }
  ~GgmlPeer() override { release_all(); }

  std::string_view name() const noexcept override { return "ggml"; }
  std::vector<std::string> forms() const override { return {"plain", std::string(kRepacked)}; }
  std::string variant() const override { return fmt::format("{}, {}", variant_->name, form_); }
  std::size_t copies() const override { return graphs_.size(); }
  void flush_if_needed() const override { arena_.flush_if_needed(); }
  void release() override { release_all(); }

  Status supports(DType weights, Compute compute) const override {
    const bool floats = weights == DType::f32 || weights == DType::f16 || weights == DType::bf16;
    if ((compute == Compute::f32) == floats) return {};
    return {StatusCode::unsupported,
            fmt::format("ggml has no {} compute of {}", to_string(compute), to_string(weights))};
  }

  Status prepare(const PeerTask& task, std::string_view form) override;

  Status run(std::size_t copy) override {
    if (const int s = base_.compute(backend_, graphs_[copy]); s != 0) {
      return {StatusCode::invalid_argument, fmt::format("ggml_backend_graph_compute returns {}", s)};
    }
    return {};
  }

 private:
  Status load_base();
  Status choose_variant(PeerIsa isa);
  Result<ggml::Variant*> load_variant(const std::string& name);
  std::vector<std::string> variants_in_folder() const;
  Status convert(const WeightView& w);
  void build(const PeerTask& task);
  Status place_plain(bool hot);
  Status place_repacked(bool hot);
  ggml::BufferType* repacking_type();
  void place(ggml::Buffer* buffer, ggml::Tensor* tensor, void* at) { base_.tensor_alloc(buffer, tensor, at); }
  void release_all();

  PeerOptions options_;
  std::string folder_;
  ggml::Base base_;
  std::optional<Library> base_library_;
  std::map<std::string, ggml::Variant> variants_;
  ggml::Variant* variant_ = nullptr;
  std::string form_;

  // Of the present task.
  WeightView w_;  ///< in ggml's format
  nibblas::Buffer converted_;
  CopyArena arena_;
  std::size_t copies_ = 0;
  ggml::Context* context_ = nullptr;
  ggml::Backend* backend_ = nullptr;
  ggml::ThreadPool* threads_ = nullptr;
  std::vector<ggml::Buffer*> buffers_;
  std::vector<ggml::Tensor*> weights_;
  std::vector<ggml::Tensor*> products_;
  std::vector<ggml::Graph*> graphs_;
  ggml::Tensor* x_ = nullptr;
};

Status GgmlPeer::load_base() {
  if (base_library_) return {};
  for (const fs::path& dir : {fs::path(options_.dir), fs::path(options_.dir) / kInPackage}) {
    std::error_code ignored;
    if (!fs::exists(dir / "libggml-base.so", ignored)) continue;
    folder_ = dir.string();
    Result<Library> opened = Library::open((dir / "libggml-base.so").string(), true);
    if (!opened) return opened.status();
    if (Status s = base_.load(*opened); !s) return s;
    base_.log_to([](int, const char*, void*) {}, nullptr);  // the report is ours
    base_library_ = std::move(*opened);
    return {};
  }
  return {StatusCode::not_found,
          fmt::format("no libggml-base.so in {}; bench/get-peers.sh installs it, or name its folder with --peer-dir",
                      options_.dir)};
}

Result<ggml::Variant*> GgmlPeer::load_variant(const std::string& name) {
  if (const auto known = variants_.find(name); known != variants_.end()) return &known->second;
  Result<Library> opened = Library::open((fs::path(folder_) / fmt::format("{}{}.so", kPrefix, name)).string(), false);
  if (!opened) return opened.status();
  ggml::Variant v;
  v.name = name;
  if (Status s = v.load(*opened); !s) return s;
  if (v.score() == 0)
    return Status{StatusCode::unsupported, fmt::format("this CPU cannot run ggml's {} variant", name)};
  return &variants_.emplace(name, v).first->second;
}

std::vector<std::string> GgmlPeer::variants_in_folder() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(kPrefix) || entry.path().extension() != ".so") continue;
    names.push_back(file.substr(kPrefix.size(), file.size() - kPrefix.size() - 3));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// ggml's own score says which variant is best on this CPU; below AVX-512 the one that has our kernel's instructions.
Status GgmlPeer::choose_variant(PeerIsa isa) {
  variant_ = nullptr;
  std::vector<std::string> names;
  if (!options_.variant.empty()) {
    names = {options_.variant};
  } else if (isa == PeerIsa::avx512) {
    names = variants_in_folder();
  } else {
    names = {isa == PeerIsa::avx2 ? "haswell" : "x64"};
  }
  Status why{StatusCode::not_found, fmt::format("no {}*.so in {}", kPrefix, folder_)};
  for (const std::string& name : names) {
    const Result<ggml::Variant*> v = load_variant(name);
    if (!v) {
      why = v.status();
    } else if (variant_ == nullptr || (*v)->score() > variant_->score()) {
      variant_ = *v;
    }
  }
  if (variant_ == nullptr) return why;
  if (variant_->device == nullptr) variant_->start(base_);
  return {};
}

Status GgmlPeer::convert(const WeightView& w) {
  w_ = w;
  w_.dtype = peer_format(w.dtype);
  const Result<std::size_t> bytes = tensor_bytes(w_.dtype, w.N, w.K);
  if (!bytes) return bytes.status();
  w_.bytes = *bytes;
  if (w_.dtype == w.dtype) return {};
  const std::size_t row_size = *bytes / w.N;
  converted_ = nibblas::Buffer(*bytes);
  if (converted_.data() == nullptr) return {StatusCode::out_of_memory, "no memory for weights in tq2_0"};
  std::vector<float> row(w.K);
  for (std::size_t n = 0; n < w.N; ++n) {
    if (Status s = dequantize(w, n, {row.data(), 1, w.K}); !s) return s;
    if (Status s = quantize(w_.dtype, {row.data(), 1, w.K}, {converted_.data() + n * row_size, row_size}); !s) return s;
  }
  w_.data = converted_.data();
  return {};
}

/// A graph for each copy of W: all share X and Y.
void GgmlPeer::build(const PeerTask& task) {
  const std::size_t per_copy = 2 * base_.tensor_overhead() + base_.graph_overhead(kGraphNodes, false) + 256;
  context_ = base_.init({copies_ * per_copy + 16 * base_.tensor_overhead(), nullptr, true});
  const int type = to_int(static_cast<std::size_t>(info(w_.dtype).ggml_id));
  x_ = base_.new_tensor_2d(context_, 0, to_i64(task.x.cols), to_i64(task.x.rows));
  ggml::Buffer* x = base_.buffer_from(const_cast<float*>(task.x.data), task.x.rows * task.x.cols * sizeof(float));
  ggml::Buffer* y = base_.buffer_from(task.y.data, task.y.rows * task.y.cols * sizeof(float));
  buffers_ = {x, y};
  place(x, x_, const_cast<float*>(task.x.data));
  for (std::size_t i = 0; i < copies_; ++i) {
    weights_.push_back(base_.new_tensor_2d(context_, type, to_i64(w_.K), to_i64(w_.N)));
    products_.push_back(base_.mul_mat(context_, weights_[i], x_));
    place(y, products_[i], task.y.data);
    graphs_.push_back(base_.new_graph(context_, kGraphNodes, false));
    base_.build_forward(graphs_[i], products_[i]);
  }
}

Status GgmlPeer::place_plain(bool hot) {
  if (Status s = arena_.reserve(w_.bytes, hot); !s) return s;
  buffers_.push_back(base_.buffer_from(arena_.at(0), arena_.size()));
  for (std::size_t i = 0; i < copies_; ++i) {
    std::memcpy(arena_.at(i), w_.data, w_.bytes);
    place(buffers_.back(), weights_[i], arena_.at(i));
  }
  return {};
}

/// The buffer type that rearranges weights of this format, if one does.
ggml::BufferType* GgmlPeer::repacking_type() {
  ggml::BufferType** types = variant_->extra_buffer_types ? variant_->extra_buffer_types(variant_->device) : nullptr;
  for (; types != nullptr && *types != nullptr; ++types) {
    ggml::Context* c = base_.init({64 * base_.tensor_overhead(), nullptr, true});
    ggml::Tensor* w = base_.new_tensor_2d(c, info(w_.dtype).ggml_id, to_i64(w_.K), to_i64(w_.N));
    ggml::Tensor* product = base_.mul_mat(c, w, base_.new_tensor_2d(c, 0, to_i64(w_.K), 1));
    ggml::Buffer* buffer = base_.buffer_alloc(*types, base_.alloc_size(*types, w));
    bool supported = false;
    if (buffer != nullptr) {
      place(buffer, w, base_.buffer_base(buffer));
      supported = base_.supports_op(variant_->device, product);
      base_.buffer_free(buffer);
    }
    base_.free(c);
    if (supported) return *types;
  }
  return nullptr;
}

Status GgmlPeer::place_repacked(bool hot) {
  ggml::BufferType* type = repacking_type();
  if (type == nullptr) return {StatusCode::unsupported, "ggml has no repacked form of these weights"};
  const std::size_t bytes = base_.alloc_size(type, weights_[0]);
  const CopyPlan plan = plan_copies(bytes, hot);
  // Small copies alone do not fill the caches; then the arena is what is read to flush them.
  if (plan.needs_flush) {
    if (Status s = arena_.reserve(bytes, hot); !s) return s;
  }
  ggml::Buffer* buffer = base_.buffer_alloc(type, copies_ * plan.stride);
  if (buffer == nullptr) return {StatusCode::out_of_memory, "ggml has no memory for repacked weights"};
  buffers_.push_back(buffer);
  auto* start = static_cast<std::byte*>(base_.buffer_base(buffer));
  // The same pages as ours have.
  const std::size_t ahead = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  if (copies_ * plan.stride > ahead) madvise(start + ahead, copies_ * plan.stride - ahead, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < copies_; ++i) {
    std::byte* at = start + i * plan.stride;
    place(buffer, weights_[i], at);
    if (i == 0) {
      base_.tensor_set(weights_[0], w_.data, 0, w_.bytes);
    } else {
      std::memcpy(at, start, bytes);
    }
  }
  return {};
}

Status GgmlPeer::prepare(const PeerTask& task, std::string_view form) {
  release_all();
  if (Status s = load_base(); !s) return s;
  if (Status s = choose_variant(peer_isa(task.isa)); !s) return s;
  if (Status s = convert(task.w); !s) return s;
  form_ = form;
  copies_ = plan_copies(w_.bytes, task.hot).copies;
  build(task);
  if (Status s = form == kRepacked ? place_repacked(task.hot) : place_plain(task.hot); !s) return s;
  backend_ = base_.backend_of(variant_->device, nullptr);
  if (backend_ == nullptr) return {StatusCode::unsupported, "ggml's CPU backend does not start"};
  ggml::ThreadPoolParams params;
  base_.thread_pool_params(&params, to_int(task.threads));
  threads_ = variant_->thread_pool_new(&params);
  variant_->set_threads(backend_, to_int(task.threads));
  variant_->set_thread_pool(backend_, threads_);
  return {};
}

void GgmlPeer::release_all() {
  if (backend_ != nullptr) base_.backend_free(backend_);
  if (threads_ != nullptr) variant_->thread_pool_free(threads_);
  for (ggml::Buffer* b : buffers_) base_.buffer_free(b);
  if (context_ != nullptr) base_.free(context_);
  backend_ = nullptr;
  threads_ = nullptr;
  context_ = nullptr;
  buffers_.clear();
  weights_.clear();
  products_.clear();
  graphs_.clear();
  arena_.release();
  converted_ = nibblas::Buffer();
}

}  // namespace

std::unique_ptr<Peer> make_ggml_peer(const PeerOptions& options) { return std::make_unique<GgmlPeer>(options); }

}  // namespace nibblas::bench
