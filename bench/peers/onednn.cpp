// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "copies.hpp"
#include "peers/onednn_api.hpp"
#include "peers/peer.hpp"

namespace nibblas::bench {
namespace {

using namespace onednn;

int isa_value(PeerIsa isa) {
  constexpr int values[] = {kSse41, kAvx2, kAvx512Vnni};
  return values[static_cast<std::size_t>(isa)];
}

std::string isa_name(int value) {
  if (value == kSse41) return "sse41";
  if (value == kAvx2) return "avx2";
  return value == kAvx512Vnni ? "avx512_core_vnni" : fmt::format("isa {:#x}", value);
}

Status check(int code, const char* what) {
  if (code == 0) return {};
  return {StatusCode::unsupported, fmt::format("oneDNN: {} returns {}", what, code)};
}

class OneDnnPeer final : public Peer {
 public:
  ~OneDnnPeer() override {
    release_all();
    if (stream_ != nullptr) api_.stream_destroy(stream_);
    if (engine_ != nullptr) api_.engine_destroy(engine_);
  }

  std::string_view name() const noexcept override { return "onednn"; }
  std::vector<std::string> forms() const override { return {"packed"}; }
  std::string variant() const override { return isa_name(api_.effective_isa()) + ", packed"; }
  std::size_t copies() const override { return weights_.size(); }
  void flush_if_needed() const override { arena_.flush_if_needed(); }
  void release() override { release_all(); }

  Status supports(DType weights, Compute) const override {
    if (weights == DType::f32) return {};
    return {StatusCode::unsupported, "only f32 weights are compared with oneDNN"};
  }

  Status prepare(const PeerTask& task, std::string_view) override {
    release_all();
    if (Status s = load(peer_isa(task.isa)); !s) return s;
    omp_set_threads_(static_cast<int>(task.threads));
    PrimitiveDesc* product = nullptr;
    Status s = prepare_product(task, &product);
    if (s.ok()) s = pack(task, product);
    if (product != nullptr) api_.primitive_desc_destroy(product);
    return s;
  }

  Status run(std::size_t copy) override {
    const Argument arguments[] = {{kSource, x_}, {kWeights, weights_[copy]}, {kDestination, y_}};
    if (Status s = check(api_.execute(product_, stream_, 3, arguments), "execute"); !s) return s;
    return check(api_.stream_wait(stream_), "stream_wait");
  }

 private:
  Status load(PeerIsa isa);
  Status prepare_product(const PeerTask& task, PrimitiveDesc** product);
  Status pack(const PeerTask& task, const PrimitiveDesc* product);
  void release_all();

  std::optional<PeerIsa> loaded_isa_;
  Api api_;
  void (*omp_set_threads_)(int) = nullptr;
  Engine* engine_ = nullptr;
  Stream* stream_ = nullptr;

  // Of the present task.
  CopyArena arena_;
  Primitive* product_ = nullptr;
  Memory* x_ = nullptr;
  Memory* y_ = nullptr;
  std::vector<Memory*> weights_;
};

/// Its instruction set can be set once, before anything else.
Status OneDnnPeer::load(PeerIsa isa) {
  if (loaded_isa_) {
    if (*loaded_isa_ == isa) return {};
    return {StatusCode::unsupported, fmt::format("oneDNN already runs as {}; compare one instruction set a run, with "
                                                 "--provider",
                                                 isa_name(isa_value(*loaded_isa_)))};
  }
  Result<Library> l = Library::open("libdnnl.so.2", false);
  if (!l) return {StatusCode::not_found, fmt::format("{} (Debian: libdnnl2)", l.status().message())};
  if (Status s = api_.load(*l); !s) return s;
  Result<Library> omp = Library::open("libgomp.so.1", false);
  if (!omp) return omp.status();
  if (!omp->find(omp_set_threads_, "omp_set_num_threads")) return omp->missing();
  if (Status s = check(api_.set_max_isa(isa_value(isa)), "set_max_cpu_isa"); !s) return s;
  if (Status s = check(api_.engine_create(&engine_, kCpu, 0), "engine_create"); !s) return s;
  if (Status s = check(api_.stream_create(&stream_, engine_, kDefaultStream), "stream_create"); !s) return s;
  loaded_isa_ = isa;
  return {};
}

/// The product with weights in whatever layout it likes best.
Status OneDnnPeer::prepare_product(const PeerTask& task, PrimitiveDesc** product) {
  const auto M = static_cast<std::int64_t>(task.x.rows);
  const auto N = static_cast<std::int64_t>(task.w.N);
  const auto K = static_cast<std::int64_t>(task.w.K);
  const std::int64_t x_sizes[] = {M, K};
  const std::int64_t w_sizes[] = {K, N};
  const std::int64_t y_sizes[] = {M, N};
  Descriptor x, w, y, op;
  if (api_.layout_init(&x, 2, x_sizes, kF32, kRows) != 0 || api_.layout_init(&w, 2, w_sizes, kF32, kAnyLayout) != 0 ||
      api_.layout_init(&y, 2, y_sizes, kF32, kRows) != 0) {
    return {StatusCode::unsupported, "oneDNN does not take these shapes"};
  }
  if (Status s = check(api_.matmul_init(&op, &x, &w, nullptr, &y), "matmul_desc_init"); !s) return s;
  if (Status s = check(api_.primitive_desc_create(product, &op, nullptr, engine_, nullptr), "primitive_desc_create");
      !s) {
    return s;
  }
  if (Status s = check(api_.primitive_create(&product_, *product), "primitive_create"); !s) return s;
  if (Status s = check(api_.memory_create(&x_, &x, engine_, const_cast<float*>(task.x.data)), "memory_create"); !s) {
    return s;
  }
  return check(api_.memory_create(&y_, &y, engine_, task.y.data), "memory_create");
}

/// Rearranges W once and copies the result.
Status OneDnnPeer::pack(const PeerTask& task, const PrimitiveDesc* product) {
  const Descriptor* packed = api_.query_layout(product, kWeightsLayout, 0);
  const std::size_t bytes = api_.layout_bytes(packed);
  if (Status s = arena_.reserve(bytes, task.hot); !s) return s;
  for (std::size_t i = 0; i < arena_.copies(); ++i) {
    Memory* m = nullptr;
    if (Status s = check(api_.memory_create(&m, packed, engine_, arena_.at(i)), "memory_create"); !s) return s;
    weights_.push_back(m);
  }
  const std::int64_t sizes[] = {static_cast<std::int64_t>(task.w.K), static_cast<std::int64_t>(task.w.N)};
  Descriptor rows;
  Memory* from = nullptr;
  PrimitiveDesc* reorder = nullptr;
  Primitive* primitive = nullptr;
  Status s = check(api_.layout_init(&rows, 2, sizes, kF32, kColumns), "memory_desc_init");
  if (s.ok())
    s = check(api_.memory_create(&from, &rows, engine_, const_cast<std::byte*>(task.w.data)), "memory_create");
  if (s.ok()) s = check(api_.reorder_create(&reorder, &rows, engine_, packed, engine_, nullptr), "reorder");
  if (s.ok()) s = check(api_.primitive_create(&primitive, reorder), "primitive_create");
  if (s.ok()) {
    const Argument arguments[] = {{kSource, from}, {kDestination, weights_[0]}};
    s = check(api_.execute(primitive, stream_, 2, arguments), "execute");
    if (s.ok()) s = check(api_.stream_wait(stream_), "stream_wait");
  }
  if (primitive != nullptr) api_.primitive_destroy(primitive);
  if (reorder != nullptr) api_.primitive_desc_destroy(reorder);
  if (from != nullptr) api_.memory_destroy(from);
  for (std::size_t i = 1; i < arena_.copies() && s.ok(); ++i) std::memcpy(arena_.at(i), arena_.at(0), bytes);
  return s;
}

void OneDnnPeer::release_all() {
  if (product_ != nullptr) api_.primitive_destroy(product_);
  for (Memory* m : weights_) api_.memory_destroy(m);
  if (x_ != nullptr) api_.memory_destroy(x_);
  if (y_ != nullptr) api_.memory_destroy(y_);
  product_ = nullptr;
  x_ = nullptr;
  y_ = nullptr;
  weights_.clear();
  arena_.release();
}

}  // namespace

std::unique_ptr<Peer> make_onednn_peer() { return std::make_unique<OneDnnPeer>(); }

}  // namespace nibblas::bench
