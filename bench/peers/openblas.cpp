// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "copies.hpp"
#include "peers/library.hpp"
#include "peers/peer.hpp"

namespace nibblas::bench {
namespace {

// CBLAS: row-major, and whether a matrix is to be read transposed.
constexpr int kRowMajor = 101;
constexpr int kAsIs = 111;
constexpr int kTransposed = 112;

const char* core_type(PeerIsa isa) {
  constexpr const char* names[] = {"Prescott", "Haswell", "SkylakeX"};
  return names[static_cast<std::size_t>(isa)];
}

class OpenBlasPeer final : public Peer {
 public:
  std::string_view name() const noexcept override { return "openblas"; }
  std::string variant() const override { return fmt::format("{}, {}", core_, task_.x.rows == 1 ? "sgemv" : "sgemm"); }
  std::size_t copies() const override { return arena_.copies(); }
  void flush_if_needed() const override { arena_.flush_if_needed(); }
  void release() override { arena_.release(); }

  Status supports(DType weights, Compute) const override {
    if (weights == DType::f32) return {};
    return {StatusCode::unsupported, "OpenBLAS has f32 weights only"};
  }

  Status prepare(const PeerTask& task, std::string_view) override {
    if (Status s = load(peer_isa(task.isa)); !s) return s;
    task_ = task;
    set_threads_(static_cast<int>(task.threads));
    const std::size_t bytes = task.w.N * task.w.K * sizeof(float);
    if (Status s = arena_.reserve(bytes, task.hot); !s) return s;
    for (std::size_t i = 0; i < arena_.copies(); ++i) std::memcpy(arena_.at(i), task.w.data, bytes);
    return {};
  }

  Status run(std::size_t copy) override {
    const int M = static_cast<int>(task_.x.rows);
    const int N = static_cast<int>(task_.w.N);
    const int K = static_cast<int>(task_.w.K);
    const auto* w = reinterpret_cast<const float*>(arena_.at(copy));
    if (M == 1) {
      sgemv_(kRowMajor, kAsIs, N, K, 1, w, K, task_.x.data, 1, 0, task_.y.data, 1);
    } else {
      sgemm_(kRowMajor, kAsIs, kTransposed, M, N, K, 1, task_.x.data, K, w, K, 0, task_.y.data, N);
    }
    return {};
  }

 private:
  /// It picks its kernels once, when it is loaded.
  Status load(PeerIsa isa) {
    if (loaded_isa_) {
      if (*loaded_isa_ == isa) return {};
      return {StatusCode::unsupported,
              fmt::format("OpenBLAS is already loaded for {}; compare one instruction set a run, with --provider",
                          core_type(*loaded_isa_))};
    }
    // Debian's does not know every CPU and would fall back to an old core.
    setenv("OPENBLAS_CORETYPE", core_type(isa), 1);
    unsetenv("OPENBLAS_L2_SIZE");
    Result<Library> l = Library::open("libopenblas.so.0", false);
    if (!l) return {StatusCode::not_found, fmt::format("{} (Debian: libopenblas0-pthread)", l.status().message())};
    char* (*core)() = nullptr;
    if (!(l->find(sgemm_, "cblas_sgemm") && l->find(sgemv_, "cblas_sgemv") &&
          l->find(set_threads_, "openblas_set_num_threads") && l->find(core, "openblas_get_corename"))) {
      return l->missing();
    }
    core_ = core();
    loaded_isa_ = isa;
    return {};
  }

  std::optional<PeerIsa> loaded_isa_;
  std::string core_;
  void (*set_threads_)(int) = nullptr;
  void (*sgemm_)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc) = nullptr;
  void (*sgemv_)(int order, int trans, int m, int n, float alpha, const float* a, int lda, const float* x, int incx,
                 float beta, float* y, int incy) = nullptr;
  PeerTask task_;
  CopyArena arena_;
};

}  // namespace

std::unique_ptr<Peer> make_openblas_peer() { return std::make_unique<OpenBlasPeer>(); }

}  // namespace nibblas::bench
