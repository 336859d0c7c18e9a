// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nibblas/cpu.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/status.hpp"
#include "nibblas/views.hpp"

// What our products are compared with: other libraries, loaded at run time, and the plain loop.

namespace nibblas::bench {

/// A product for a peer to compute.
struct PeerTask {
  WeightView w;
  ConstMatrixView x;  ///< dense, 64-byte aligned; so is y
  MatrixView y;
  std::size_t threads = 1;
  bool hot = false;
  CpuFeatures isa;  ///< what our kernel needs: the peer is to use the same instruction set
};

/// The instruction sets that peers can be held to.
enum class PeerIsa : std::uint8_t { baseline, avx2, avx512 };
PeerIsa peer_isa(CpuFeatures needs) noexcept;

class Peer {
 public:
  virtual ~Peer() = default;
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  virtual std::string_view name() const noexcept = 0;
  /// Has it this format, and does it compute in a comparable way? ok, or unsupported with the reason.
  virtual Status supports(DType weights, Compute compute) const = 0;
  /// The ways in which it can hold weights; the fastest counts.
  virtual std::vector<std::string> forms() const { return {"plain"}; }
  /// Gets everything ready that a program does once a model: library, threads, copies of the weights in its own form.
  /// not_found: the library is not there. unsupported: not this task, or not in this form.
  virtual Status prepare(const PeerTask& task, std::string_view form) = 0;
  /// After prepare(): what ran, such as "zen4, repacked".
  virtual std::string variant() const = 0;
  virtual std::size_t copies() const = 0;
  virtual void flush_if_needed() const = 0;
  /// One product with that copy of the weights, from X in f32 to Y.
  virtual Status run(std::size_t copy) = 0;
  /// Frees what prepare() made.
  virtual void release() = 0;
};

struct PeerOptions {
  std::string dir;      ///< where bench/get-peers.sh put ggml; empty: where it does by default
  std::string variant;  ///< of ggml; empty: the one that fits our kernel
};

/// "ggml", "openblas", "onednn".
std::vector<std::string_view> peer_names();
/// Null for a name that is not one of them. Loads nothing yet.
std::unique_ptr<Peer> make_peer(std::string_view name, const PeerOptions& options);

std::unique_ptr<Peer> make_ggml_peer(const PeerOptions& options);
std::unique_ptr<Peer> make_openblas_peer();
std::unique_ptr<Peer> make_onednn_peer();
/// Decode a row, multiply it with each token, in plain C++.
std::unique_ptr<Peer> make_scalar_baseline();

}  // namespace nibblas::bench
