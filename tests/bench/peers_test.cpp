// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "cli.hpp"
#include "made_result.hpp"
#include "nibblas/buffer.hpp"
#include "nibblas/formats.hpp"
#include "peers/compare.hpp"
#include "runner.hpp"
#include "support/fill.hpp"
#include "support/oracle.hpp"
#include "timing.hpp"

namespace nibblas::bench {
namespace {

using std::chrono::milliseconds;

/// A product with room for Y, and the error of what lies there.
struct Product {
  static constexpr std::size_t M = 3, N = 40, K = 256;
  std::vector<std::byte> bytes;
  Buffer x{M * K * sizeof(float)};
  Buffer y{M * N * sizeof(float)};
  PeerTask task;

  explicit Product(DType t) : bytes(*tensor_bytes(t, N, K)) {
    EXPECT_TRUE(test::fill_weights(t, N, K, 3, bytes).ok());
    test::fill_gaussian_with_outliers({reinterpret_cast<float*>(x.data()), M, K}, 5);
    task.w = {t, N, K, bytes.data(), bytes.size(), 0};
    task.x = {reinterpret_cast<const float*>(x.data()), M, K};
    task.y = {reinterpret_cast<float*>(y.data()), M, N};
    task.hot = true;
    task.isa = CpuFeatures{}.with(CpuFeature::avx2);
  }
  Result<double> rel_l2() const {
    const Result<test::Oracle> oracle = test::make_oracle(task.w, task.x);
    if (!oracle) return oracle.status();
    return test::compare(*oracle, Compute::f32, task.y).rel_l2;
  }
  PeerResult compare_with(Peer& peer, Compute compute) const {
    return compare(
        peer, task, compute, 0.001, [](std::size_t) { return Status{}; }, [&] { return rel_l2(); });
  }
};

/// Right, by the plain loop, in several forms: "slow", "fast", or "lacking", "wrong", "partial" which must not count.
class FakePeer final : public Peer {
 public:
  explicit FakePeer(std::vector<std::string> forms) : forms_(std::move(forms)) {}
  std::string_view name() const noexcept override { return "fake"; }
  std::vector<std::string> forms() const override { return forms_; }
  Status supports(DType, Compute compute) const override {
    if (compute == Compute::f32) return {};
    return {StatusCode::unsupported, "fake has f32 only"};
  }
  Status prepare(const PeerTask& task, std::string_view form) override {
    ++prepared;
    form_ = form;
    task_ = task;
    if (form == "lacking") return {StatusCode::unsupported, "no such form"};
    return plain_->prepare(task, "plain");
  }
  std::string variant() const override { return form_; }
  std::size_t copies() const override { return plain_->copies(); }
  void flush_if_needed() const override {}
  Status run(std::size_t copy) override {
    const Status s = plain_->run(copy);
    if (form_ == "slow") std::this_thread::sleep_for(milliseconds(5));
    if (form_ == "wrong") task_.y.data[0] += 1000;
    if (form_ == "partial") task_.y.data[task_.y.rows * task_.y.cols - 1] = NAN;
    return s;
  }
  void release() override { ++released; }

  int prepared = 0;
  int released = 0;

 private:
  std::vector<std::string> forms_;
  std::string form_;
  PeerTask task_;
  std::unique_ptr<Peer> plain_ = make_scalar_baseline();
};

TEST(Compare, TheFastestRightFormCounts) {
  const Product product(DType::q4_0);
  for (const auto& forms :
       {std::vector<std::string>{"slow", "lacking", "wrong", "fast"}, {"fast", "partial", "slow", "lacking"}}) {
    FakePeer peer(forms);
    const PeerResult r = product.compare_with(peer, Compute::f32);
    ASSERT_TRUE(r.timed()) << r.why_not;
    EXPECT_EQ(r.peer, "fake");
    EXPECT_EQ(r.variant, "fast");
    EXPECT_GT(r.seconds, 0);
    EXPECT_LT(r.seconds, 0.005);
    EXPECT_GE(r.repetitions, 3u);
    EXPECT_LT(r.rel_l2, 1e-6);
    EXPECT_EQ(peer.prepared, 4);
    EXPECT_EQ(peer.released, 4);
  }
}

TEST(Compare, WrongResultsHaveNoTime) {
  const Product product(DType::f32);
  for (const char* form : {"wrong", "partial"}) {
    FakePeer peer({form});
    const PeerResult r = product.compare_with(peer, Compute::f32);
    EXPECT_FALSE(r.timed());
    EXPECT_NE(r.why_not.find("its result is wrong"), std::string::npos) << r.why_not;
    EXPECT_EQ(r.seconds, 0);
    EXPECT_EQ(r.ratio(), 0);
  }
}

TEST(Compare, SaysWhyThereIsNoTime) {
  const Product product(DType::f32);
  FakePeer peer({"lacking"});
  EXPECT_EQ(product.compare_with(peer, Compute::f32).why_not, "no such form");
  EXPECT_EQ(product.compare_with(peer, Compute::int8).why_not, "fake has f32 only");
  EXPECT_EQ(peer.prepared, 1);
}

TEST(Compare, RatioAboveOneMeansWeAreFaster) {
  PeerResult r;
  r.seconds = 0.006;
  EXPECT_EQ(r.ratio(), 0);
  r.our_seconds = 0.002;
  EXPECT_DOUBLE_EQ(r.ratio(), 3);
  r.why_not = "absent";
  EXPECT_EQ(r.ratio(), 0);
}

TEST(ScalarBaseline, IsRightForEveryFormatAndWithThreads) {
  for (const DTypeInfo& t : kDTypes) {
    Product product(t.dtype);
    for (const std::size_t threads : {1u, 2u}) {
      product.task.threads = threads;
      const std::unique_ptr<Peer> baseline = make_scalar_baseline();
      const PeerResult r = product.compare_with(*baseline, t.default_compute);
      EXPECT_TRUE(r.timed()) << r.why_not;
      EXPECT_LT(r.rel_l2, 1e-6) << t.name;
    }
  }
}

/// Those that are installed give the right product in every format they claim; the others say what is missing.
TEST(Peers, AreRightOrSayWhatIsMissing) {
  for (const std::string_view name : peer_names()) {
    const std::unique_ptr<Peer> peer = make_peer(name, {});
    ASSERT_NE(peer, nullptr);
    EXPECT_EQ(peer->name(), name);
    for (const DTypeInfo& t : kDTypes) {
      for (const std::size_t threads : {1u, 2u}) {
        Product product(t.dtype);
        product.task.threads = threads;
        const PeerResult r = product.compare_with(*peer, t.default_compute);
        if (!r.timed()) {
          EXPECT_TRUE(peer->supports(t.dtype, t.default_compute).ok() ? r.why_not.find(".so") != std::string::npos
                                                                      : !r.why_not.empty())
              << name << " " << t.name << ": " << r.why_not;
        } else {
          EXPECT_LT(r.rel_l2, t.default_compute == Compute::f32 ? 5e-3 : 3e-2) << name << " " << t.name;
        }
      }
    }
  }
  EXPECT_EQ(make_peer("mkl", {}), nullptr);
}

TEST(Peers, IsaFollowsOurKernel) {
  EXPECT_EQ(peer_isa({}), PeerIsa::baseline);
  EXPECT_EQ(peer_isa(CpuFeatures{}.with(CpuFeature::avx2)), PeerIsa::avx2);
  EXPECT_EQ(peer_isa(CpuFeatures{}.with(CpuFeature::avx2).with(CpuFeature::avx512f)), PeerIsa::avx512);
}

TEST(Peers, AnUnknownVariantIsNamed) {
  const std::unique_ptr<Peer> peer = make_peer("ggml", {"", "pentium"});
  const Product product(DType::f32);
  const PeerResult r = product.compare_with(*peer, Compute::f32);
  EXPECT_FALSE(r.timed());
  EXPECT_TRUE(r.why_not.find("libggml-cpu-pentium.so") != std::string::npos ||
              r.why_not.find("no libggml-base.so") != std::string::npos)
      << r.why_not;
}

TEST(Timing, TakesCopiesInTurnAndStopsAtAnError) {
  std::vector<std::size_t> seen;
  const auto t = time_in_turn(3, 0, [&](std::size_t copy) {
    seen.push_back(copy);
    return Status{};
  });
  ASSERT_TRUE(t.ok());
  ASSERT_EQ(seen.size(), t->repetitions + 1);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], (i + 1) % 3);
  int calls = 0;
  const auto failed = time_in_turn(1, 0, [&](std::size_t) {
    return ++calls == 3 ? Status{StatusCode::unsupported, "third"} : Status{};
  });
  EXPECT_EQ(failed.status().message(), "third");
  EXPECT_EQ(calls, 3);
}

TEST(Runner, RunsItsPeersOnEachCase) {
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  RunOptions options;
  options.shapes = {{64, 20}};
  options.m = {2};
  options.weights = {DType::f32};
  options.computes = {Compute::automatic};
  options.providers = {"scalar"};
  options.seconds = 0.001;
  options.hot = true;
  options.baseline = true;
  const auto list = make_cases(options, registry, nullptr);
  ASSERT_TRUE(list.ok());
  Rivals rivals = make_rivals(options);
  rivals.peers.push_back(std::make_unique<FakePeer>(std::vector<std::string>{"slow"}));
  rivals.peers.push_back(std::make_unique<FakePeer>(std::vector<std::string>{"fast"}));
  rivals.peers.push_back(std::make_unique<FakePeer>(std::vector<std::string>{"lacking"}));
  Runner runner(options, registry, {made_limits()}, std::move(rivals));
  const CaseResult r = runner.run(list->cases.at(0));
  ASSERT_EQ(r.outcome, Outcome::timed) << r.why;
  ASSERT_EQ(r.peers.size(), 3u);
  ASSERT_NE(r.best_peer(), nullptr);
  EXPECT_EQ(r.best_peer()->variant, "fast");
  EXPECT_GT(r.peers[0].seconds, r.peers[1].seconds);
  EXPECT_FALSE(r.peers[2].timed());
  ASSERT_TRUE(r.baseline && r.baseline->timed());
  ASSERT_TRUE(r.prepare_seconds.has_value());
  EXPECT_GT(r.prepare_share(), 0);
}

}  // namespace
}  // namespace nibblas::bench
