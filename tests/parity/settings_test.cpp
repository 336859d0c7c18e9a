// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <vector>

#include "parity/covering_array.hpp"
#include "parity/product.hpp"

// Whatever the shape, the form of the weights, the threads, the tile plan, the strides: the same bits. Every pair of
// settings occurs together in some case.

namespace nibblas::test {
namespace {

constexpr std::uint64_t kSeed = 20240229;

constexpr std::size_t kMs[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 24, 25, 33, 64, 97};
constexpr std::size_t kNs[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 49, 50};
constexpr std::size_t kThreads[] = {0, 1, 2, 3, 8};  // 0: the serial executor
constexpr std::size_t kRowBlocks[] = {0, 1, 2, 3, 64};
constexpr std::size_t kChunks[] = {0, 1, 100, 1000, SIZE_MAX};
constexpr std::size_t kSplits[] = {0, 1, 2, 100};
constexpr std::size_t kGaps[] = {0, 1, 13};
constexpr CacheInfo kCaches[] = {{32 << 10, 1 << 20, 32 << 20}, {0, 0, 0}, {1, 1, 1}, {1 << 30, 1 << 30, 1 << 30}};
constexpr InputFill kInputs[] = {InputFill::gaussian, InputFill::hostile};
constexpr WeightFill kWeights[] = {WeightFill::gaussian, WeightFill::blocks, WeightFill::ladder};

/// Whole blocks, and for formats without blocks tails around every group of the canonical order.
std::vector<std::size_t> lengths(DType t) {
  if (info(t).block_elems == 1) return {1, 31, 63, 64, 65, 127, 1000, 1024, 1025, 1536, 2049, 4096};
  const std::size_t block = info(t).block_elems;
  return {block, 3 * block, 7 * block, 1536, 4096};
}

/// Which factor of the covering array is which.
enum Factor : std::size_t {
  fM,
  fN,
  fK,
  fForm,
  fPrepared,
  fThreads,
  fRows,
  fChunk,
  fSplit,
  fXGap,
  fYGap,
  fCaches,
  fM0,
  fN0,
  fInput,
  fWeights,
  kFactors
};

std::vector<std::size_t> levels(std::size_t lengths_of_k) {
  std::vector<std::size_t> n(kFactors, 2);  // fPrepared, fM0, fN0: yes or no
  n[fM] = std::size(kMs);
  n[fN] = std::size(kNs);
  n[fK] = lengths_of_k;
  n[fForm] = 4;
  n[fThreads] = std::size(kThreads);
  n[fRows] = std::size(kRowBlocks);
  n[fChunk] = std::size(kChunks);
  n[fSplit] = std::size(kSplits);
  n[fXGap] = std::size(kGaps);
  n[fYGap] = std::size(kGaps);
  n[fCaches] = std::size(kCaches);
  n[fInput] = std::size(kInputs);
  n[fWeights] = std::size(kWeights);
  return n;
}

Executor& pool(std::size_t threads) {
  static const auto pools = [] {
    std::vector<std::unique_ptr<ThreadPool>> all;
    for (const std::size_t n : kThreads) all.push_back(n == 0 ? nullptr : std::make_unique<ThreadPool>(n));
    return all;
  }();
  return pools[threads] == nullptr ? serial_executor() : *pools[threads];
}

class Settings : public testing::TestWithParam<Candidate> {
 protected:
  void check(const std::vector<std::size_t>& level, std::size_t K) {
    const Candidate& c = GetParam();
    const std::size_t M = kMs[level[fM]];
    const std::size_t N = kNs[level[fN]];
    if (!c.runs(M)) return;
    const Reference& ref = reference(c.key(), K, kWeights[level[fWeights]], kInputs[level[fInput]]);
    const std::size_t m0 = level[fM0] * (kReferenceM - M);
    const std::size_t n0 = level[fN0] * (kReferenceN - N);
    Conditions conditions;
    conditions.form = static_cast<Form>(level[fForm]);
    conditions.prepared = level[fPrepared] == 1;
    conditions.tiles = {kRowBlocks[level[fRows]], kChunks[level[fChunk]], kSplits[level[fSplit]]};
    conditions.executor = &pool(level[fThreads]);
    conditions.caches = &kCaches[level[fCaches]];
    const Matrix x = copy_of(ref.x.part(m0, M, 0, K), kGaps[level[fXGap]]);
    Matrix y(M, N, kGaps[level[fYGap]]);
    ASSERT_TRUE(multiply(c, ref.w.rows(n0, N), x.view(), y.view(), conditions));
    ASSERT_TRUE(matches(ref.y.part(m0, M, n0, N), y.view()));
    ASSERT_TRUE(y.gaps_intact());
    ++ran_;
  }

  static std::string describe(const std::vector<std::size_t>& level, std::size_t K) {
    std::ostringstream s;
    s << "M " << kMs[level[fM]] << (level[fM0] != 0 ? " (last rows)" : "") << ", N " << kNs[level[fN]]
      << (level[fN0] != 0 ? " (last rows)" : "") << ", K " << K << ", W " << to_string(static_cast<Form>(level[fForm]))
      << ' ' << to_string(kWeights[level[fWeights]]) << ", X " << to_string(kInputs[level[fInput]])
      << (level[fPrepared] != 0 ? " prepared" : "") << " gap " << kGaps[level[fXGap]] << ", Y gap "
      << kGaps[level[fYGap]] << ", threads " << kThreads[level[fThreads]] << ", row block " << kRowBlocks[level[fRows]]
      << ", K chunk " << kChunks[level[fChunk]] << ", M splits " << kSplits[level[fSplit]] << ", caches "
      << level[fCaches] << ", seed " << kSeed;
    return s.str();
  }

  std::size_t ran_ = 0;
};

TEST_P(Settings, EveryPairGivesTheSameBits) {
  const std::vector<std::size_t> ks = lengths(GetParam().kernel->key.weights);
  const auto cases = covering_array(levels(ks.size()), kSeed);
  ASSERT_LE(cases.size(), 300u);
  for (const auto& level : cases) {
    ASSERT_NO_FATAL_FAILURE(check(level, ks[level[fK]])) << describe(level, ks[level[fK]]);
  }
  EXPECT_GT(ran_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Settings, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
