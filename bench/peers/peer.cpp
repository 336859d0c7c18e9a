// SPDX-License-Identifier: Apache-2.0
#include "peers/peer.hpp"

namespace nibblas::bench {

PeerIsa peer_isa(CpuFeatures needs) noexcept {
  if (needs.has(CpuFeature::avx512f)) return PeerIsa::avx512;
  return needs.has(CpuFeature::avx2) ? PeerIsa::avx2 : PeerIsa::baseline;
}

std::vector<std::string_view> peer_names() { return {"ggml", "openblas", "onednn"}; }

std::unique_ptr<Peer> make_peer(std::string_view name, const PeerOptions& options) {
  if (name == "ggml") return make_ggml_peer(options);
  if (name == "openblas") return make_openblas_peer();
  if (name == "onednn") return make_onednn_peer();
  return nullptr;
}

}  // namespace nibblas::bench
