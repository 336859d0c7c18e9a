// SPDX-License-Identifier: Apache-2.0
// The driver as a kernel sees it: every panel meets every token tile once, over ascending ranges of K whose state is
// carried, with pointers to the right blocks; and W is read as often as the plan says, which is once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "driver/exact_problem.hpp"
#include "driver/executors.hpp"
#include "driver/spy_provider.hpp"
#include "nibblas/matmul.hpp"

namespace nibblas::test {
namespace {

// Plans follow the caches, so they are given: with the smaller one, long rows of f32 take the path of long panels.
constexpr CacheInfo kLargeL2{.l1d = 48 << 10, .l2 = 2 << 20, .l3 = 32 << 20};
constexpr CacheInfo kSmallL2{.l1d = 32 << 10, .l2 = 256 << 10, .l3 = 8 << 20};

struct Run {
  ExactCase kind{DType::q8_0, Compute::int8, 32};
  std::size_t M = 1, N = 1, K = 32;
  std::size_t streams = 1;
  bool packed = false;
  std::size_t threads = 1;
  TileOverride tiles = {};
  CacheInfo caches = kLargeL2;
};

/// Bytes of the panel form of elements [k0, k1) of 16 rows.
std::size_t panel_bytes(DType t, std::size_t k0, std::size_t k1) {
  const std::size_t blocks = t == DType::f32 ? k1 - k0 : (k1 + 31) / 32 - k0 / 32;
  return 16 * blocks * (t == DType::f32 ? 4 : t == DType::q8_0 ? 34 : t == DType::q4_0 ? 18 : 8);
}
std::size_t tail_bytes(DType t) { return t == DType::bitnet_b158 ? 64 : 0; }

/// What one call did, checked while it is taken apart.
class Trace {
 public:
  Trace(const Run& run, const PackedWeights* packed) : run_(run), packed_(packed) {}

  void check() {
    check_prepares();
    for (const SpyProvider::Tile& t : SpyProvider::tiles()) check_tile(t);
    const std::size_t panels = (run_.N + 15) / 16;
    EXPECT_EQ(done_.size(), panels * SpyProvider::prepares().size());
    for (const auto& [where, k] : done_) EXPECT_EQ(k, run_.K) << "panel " << where.first;
  }

  /// Bytes that pack() read, or that tiles read of packed panels for the first token tile of a chunk.
  std::size_t packed_bytes_read() const {
    std::size_t bytes = 0;
    for (const SpyProvider::Pack& p : SpyProvider::packs()) bytes += panel_bytes(run_.kind.dtype, p.k0, p.k1);
    return bytes;
  }

 private:
  static bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }

  void check_prepares() {
    std::size_t tokens = 0;
    for (const SpyProvider::Prepare& p : SpyProvider::prepares()) {
      EXPECT_TRUE(aligned(p.out));
      const Compute compute = run_.kind.compute;
      EXPECT_LE(p.tokens, compute == Compute::f32 ? 24u : compute == Compute::int8 ? 64u : 16u);
      tokens_of_[p.out] = p.tokens;
      tokens += p.tokens;
    }
    EXPECT_EQ(tokens, run_.M);
    EXPECT_EQ(tokens_of_.size(), SpyProvider::prepares().size()) << "two tiles in one place";
  }

  /// Panel and first element of the block at `p`.
  std::pair<std::size_t, std::size_t> locate(const std::byte* p, const SpyProvider::Tile& t) const {
    const std::size_t whole = panel_bytes(run_.kind.dtype, 0, run_.K) + tail_bytes(run_.kind.dtype);
    const auto element = [&](std::size_t offset, std::size_t k0) {
      return offset == 0 ? k0 : k0 + offset / (panel_bytes(run_.kind.dtype, 0, 32)) * 32;
    };
    if (packed_ != nullptr) {
      const auto offset = static_cast<std::size_t>(p - packed_->data());
      return {offset / whole, element(offset % whole, 0)};
    }
    for (std::size_t i = t.packs; i-- > 0;) {
      const SpyProvider::Pack& pack = SpyProvider::packs()[i];
      const std::byte* end = pack.out + panel_bytes(run_.kind.dtype, pack.k0, pack.k1);
      if (pack.thread == t.thread && p >= pack.out && p < end) {
        EXPECT_LE(t.k1, pack.k1);
        return {pack.row0 / 16, element(static_cast<std::size_t>(p - pack.out), pack.k0)};
      }
    }
    return {SIZE_MAX, SIZE_MAX};
  }

  void check_tile(const SpyProvider::Tile& t) {
    EXPECT_TRUE(aligned(t.state));
    EXPECT_EQ(t.K, run_.K);
    ASSERT_TRUE(tokens_of_.contains(t.x)) << "a tile that nobody prepared";
    EXPECT_EQ(tokens_of_[t.x], t.tokens);
    EXPECT_GE(t.panels.size(), 1u);
    EXPECT_LE(t.panels.size(), kMaxTilePanels);
    EXPECT_LT(t.k0, t.k1);
    EXPECT_TRUE(t.k1 == run_.K || t.k1 % 32 == 0);
    SpyProvider::Tile& last = last_[{t.thread, t.x}];
    if (t.k0 != 0) {  // goes on where this thread's last call for these tokens stopped
      EXPECT_EQ(last.k1, t.k0);
      EXPECT_EQ(last.state, t.state);
      EXPECT_EQ(last.panels.size(), t.panels.size());
    }
    for (const std::byte* p : t.panels) {
      const auto [panel, k] = locate(p, t);
      ASSERT_LT(panel, (run_.N + 15) / 16);
      EXPECT_EQ(k, t.k0);
      EXPECT_EQ((done_[{panel, t.x}]), t.k0) << "panel " << panel;
      done_[{panel, t.x}] = t.k1;
    }
    last = t;
  }

  const Run& run_;
  const PackedWeights* packed_;
  std::map<const std::byte*, std::size_t> tokens_of_;                               // by prepared tile
  std::map<std::pair<std::size_t, const std::byte*>, std::size_t> done_;            // (panel, tile) -> elements of K
  std::map<std::pair<std::thread::id, const std::byte*>, SpyProvider::Tile> last_;  // by thread and prepared tile
};

/// One checked call. Returns stats.weight_bytes.
std::size_t traced(const Run& r, std::size_t splits = 1) {
  const SpyProvider spy(r.streams);
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  EXPECT_TRUE(registry.add(spy));
  ThreadsExecutor executor(r.threads);
  Context context{.registry = &registry, .executor = &executor, .caches = &r.caches, .workspace = {}};
  const ExactProblem p(r.kind.dtype, r.M, r.N, r.K);
  Output y(r.M, r.N, 1);
  MatmulStats stats;
  const MatmulOptions options{.compute = r.kind.compute, .tiles = r.tiles, .stats = &stats};
  PackedWeights packed;
  if (r.packed) {
    Result<PackedWeights> made = PackedWeights::pack(p.view(), context, options);
    EXPECT_TRUE(made) << made.status().message();
    packed = std::move(made).value();
  }
  if (std::byte* scratch = context.workspace.reserve(1 << 20)) std::memset(scratch, 0xff, 1 << 20);
  SpyProvider::forget();
  const Status s = r.packed ? matmul(packed, p.rows(), y.view(), context, options)
                            : matmul(p.view(), p.rows(), y.view(), context, options);
  EXPECT_TRUE(s) << s.message();
  EXPECT_STREQ(stats.kernel != nullptr ? stats.kernel->name + std::strlen(stats.kernel->name) - 3 : "", "spy");
  EXPECT_EQ(y.difference(p.want), "");
  Trace trace(r, r.packed ? &packed : nullptr);
  trace.check();
  const std::size_t whole = (r.N + 15) / 16 * panel_bytes(r.kind.dtype, 0, r.K);
  EXPECT_EQ(stats.weight_bytes, splits * whole);
  EXPECT_EQ(trace.packed_bytes_read(), r.packed ? 0 : splits * whole);
  return static_cast<std::size_t>(stats.weight_bytes);
}

constexpr ExactCase kKinds[] = {{DType::f32, Compute::f32, 1},
                                {DType::q8_0, Compute::int8, 32},
                                {DType::q4_0, Compute::int8, 32},
                                {DType::bitnet_b158, Compute::int8_token, 1}};

TEST(DriverContract, WeightsAreReadOnceAtEveryM) {
  for (const ExactCase& kind : kKinds) {
    for (const std::size_t M : {1u, 2u, 16u, 17u, 24u, 25u, 48u, 49u, 64u, 65u, 130u}) {
      for (const bool packed : {false, true}) {
        SCOPED_TRACE(testing::Message() << to_string(kind.dtype) << " M=" << M << (packed ? " packed" : " zero-copy"));
        EXPECT_GT(traced({.kind = kind, .M = M, .N = 16 * 9 + 3, .K = 64, .packed = packed}), 0u);
      }
    }
  }
}

TEST(DriverContract, LongRowsAreWalkedInRangesWithTheirState) {
  for (const ExactCase& kind : kKinds) {
    for (const std::size_t M : {1u, 20u, 50u}) {
      for (const std::size_t k_chunk : {64u, 128u, 500u, 0u}) {
        for (const bool packed : {false, true}) {
          for (const CacheInfo& caches : {kLargeL2, kSmallL2}) {
            SCOPED_TRACE(testing::Message() << to_string(kind.dtype) << " M=" << M << " k_chunk=" << k_chunk
                                            << (packed ? " packed" : " zero-copy") << ", L2 of " << caches.l2);
            traced({.kind = kind,
                    .M = M,
                    .N = 16 * 5 + 1,
                    .K = kind.block == 1 ? 1001u : 992u,
                    .packed = packed,
                    .tiles = {0, k_chunk, 0},
                    .caches = caches});
          }
        }
      }
    }
  }
}

TEST(DriverContract, DistantPanelsSideBySide) {
  for (const std::size_t streams : {2u, 3u, 4u, 8u, 64u}) {
    for (const std::size_t panels : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 31u, 33u, 130u}) {
      SCOPED_TRACE(testing::Message() << streams << " streams, " << panels << " panels");
      traced({.N = 16 * panels - 7, .K = 64, .streams = streams, .packed = true});
    }
  }
  // They really are distant: a group's panels are a share of the row block apart.
  traced({.N = 16 * 12, .K = 64, .streams = 4, .packed = true});
  const SpyProvider::Tile& t = SpyProvider::tiles().front();
  ASSERT_EQ(t.panels.size(), 4u);
  EXPECT_EQ(t.panels[1] - t.panels[0], static_cast<std::ptrdiff_t>(3 * panel_bytes(DType::q8_0, 0, 64)));
}

TEST(DriverContract, ThreadsShareTheWork) {
  for (const ExactCase& kind : kKinds) {
    for (const std::size_t threads : {2u, 3u, 16u}) {
      for (const bool packed : {false, true}) {
        SCOPED_TRACE(testing::Message() << to_string(kind.dtype) << " threads=" << threads);
        const std::size_t panels = 4 * threads;  // enough that M need not be split
        traced({.kind = kind, .M = 50, .N = 16 * panels - 5, .K = 64, .packed = packed, .threads = threads});
        traced({.kind = kind, .M = 1, .N = 16 * panels, .K = 1088, .streams = 3, .packed = packed, .threads = threads});
      }
    }
  }
}

TEST(DriverContract, EachSplitOfMReadsTheWeightsAgain) {
  for (const bool packed : {false, true}) {
    for (const std::size_t splits : {2u, 3u, 5u}) {
      traced({.M = 5 * 64, .N = 40, .K = 64, .packed = packed, .tiles = {0, 0, splits}}, splits);
    }
  }
}

TEST(DriverContract, PreparedActivationsAreNotPreparedAgain) {
  const SpyProvider spy;
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  ASSERT_TRUE(registry.add(spy));
  Context context{.registry = &registry, .executor = nullptr, .caches = nullptr, .workspace = {}};
  constexpr std::size_t M = 2 * tile_tokens(Compute::int8) + 22;  // three tiles
  const ExactProblem p(DType::q8_0, M, 50, 64);
  Activations X;
  SpyProvider::forget();
  ASSERT_TRUE(prepare(p.rows(), Compute::int8, X, context));
  EXPECT_EQ(SpyProvider::prepares().size(), 3u);
  ASSERT_EQ(X.tiles(), 3u);
  EXPECT_EQ(X.first_token(3), M);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(SpyProvider::prepares()[i].x, p.x.data() + X.first_token(i) * 64);
    EXPECT_EQ(SpyProvider::prepares()[i].out, X.tile(i));
    EXPECT_EQ(SpyProvider::prepares()[i].tokens, X.tokens(i));
    EXPECT_LE(X.tokens(0) - X.tokens(i), 1u);
  }
  for (int call = 0; call < 2; ++call) {
    Output y(M, 50);
    ASSERT_TRUE(matmul(p.view(), X, y.view(), context));
    EXPECT_EQ(y.difference(p.want), "");
  }
  EXPECT_EQ(SpyProvider::prepares().size(), 3u);
}

}  // namespace
}  // namespace nibblas::test
