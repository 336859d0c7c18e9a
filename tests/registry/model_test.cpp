// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <sstream>

#include "fakes.hpp"

// Random registries against a second, naive statement of the rules: list every kernel that may serve, sort, take the
// first.

namespace nibblas {
namespace {

using namespace fakes;

constexpr CpuFeature kHas = CpuFeature::avx2;
constexpr CpuFeature kLacks = CpuFeature::avx512f;

const std::vector<KernelKey>& key_pool() {
  static const std::vector<KernelKey> keys{
      kF32, kF32Gemv, kQ4, kQ4Gemv, {Op::matmul, DType::tq2_0, Compute::int8}, {Op::gemv, DType::tq1_0, Compute::int8}};
  return keys;
}

struct World {
  std::deque<std::string> names;
  std::deque<Provider> providers;
  std::vector<CpuFeatures> needs;  ///< by provider
};

class Dice {
 public:
  explicit Dice(unsigned seed) : rng_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng_); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937 rng_;
};

void build(World& w, Dice& dice) {
  const std::size_t n = 1 + dice.below(5);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Kernel> kernels;
    const std::size_t count = dice.below(6);
    for (std::size_t j = 0; j < count; ++j) {
      w.names.push_back(std::string("k.") + static_cast<char>('0' + i) + static_cast<char>('0' + j));
      const char* name = w.names.back().c_str();
      const KernelKey key = key_pool()[dice.below(key_pool().size())];
      Kernel k = dice.one_in(2)   ? tiled(key, name)
                 : dice.one_in(2) ? whole(key, name)
                                  : whole(key, name, kFirstForeignLayout + static_cast<std::uint32_t>(dice.below(2)));
      k.results = dice.one_in(4) ? Results::tolerance : Results::canonical;
      k.needs = CpuFeatures{}.with(dice.one_in(5) ? kLacks : kHas);
      kernels.push_back(k);
    }
    const CpuFeatures needs = CpuFeatures{}.with(dice.one_in(5) ? kLacks : kHas);
    const std::string name = i == 0 ? "scalar" : std::string(1, static_cast<char>('p' + i));
    w.providers.emplace_back(name, static_cast<int>(dice.below(4)) - 1, std::move(kernels), needs);
    w.needs.push_back(needs);
  }
}

bool in_list(const std::string& list, std::string_view name) {
  std::stringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    if (item == name) {
      return true;
    }
  }
  return false;
}

/// The rules once more, without looking at the library's code.
const Kernel* expected(const World& w, const RegistryConfig& config, const KernelRequest& q) {
  struct Line {
    int rank;  ///< smaller is better
    int priority;
    std::size_t added;
    bool other_op;
    const Kernel* kernel;
  };
  std::vector<Line> lines;
  for (std::size_t i = 0; i < w.providers.size(); ++i) {
    const Provider& p = w.providers[i];
    const bool forced = p.name() == config.force_provider;
    const bool named = p.name() == q.provider;
    const bool allowed = config.force_provider.empty() || forced || p.name() == "scalar";
    if (w.needs[i].has(kLacks) || in_list(config.disable, p.name()) || !allowed || (!q.provider.empty() && !named)) {
      continue;
    }
    for (const Kernel& k : p.kernels()) {
      const bool key_fits = k.key.weights == q.key.weights && k.key.compute == q.key.compute &&
                            !(k.key.op == Op::gemv && q.key.op == Op::matmul);
      const bool bits_fit = k.results == Results::canonical || q.allow_tolerance || named || forced;
      const std::uint32_t reads = k.tiled.tile != nullptr ? panel_layout(k.key.weights).id : k.whole.layout_id;
      const bool layout_fits = q.layout_id == 0 || q.layout_id == reads;
      const bool x_fits = !q.tiled_only || k.tiled.tile != nullptr;
      if (key_fits && bits_fit && layout_fits && x_fits && !k.needs.has(kLacks) && !in_list(config.disable, k.name)) {
        lines.push_back({config.force_provider.empty() || forced ? 0 : 1, p.priority(), i, k.key.op != q.key.op, &k});
      }
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tuple(a.rank, -a.priority, a.added, a.other_op) < std::tuple(b.rank, -b.priority, b.added, b.other_op);
  });
  return lines.empty() ? nullptr : lines.front().kernel;
}

void check_trail(const KernelRegistry& r, const Resolution& res, const std::string& what) {
  std::vector<std::string> listed;
  int chosen_lines = 0;
  for (std::size_t i = 0; i < res.trail.size(); ++i) {
    const Candidate& c = res.trail[i];
    EXPECT_FALSE(c.reason.empty()) << what;
    chosen_lines += c.chosen;
    if (c.chosen) {
      ASSERT_NE(res.kernel, nullptr) << what;
      EXPECT_EQ(c.kernel, res.kernel->name) << what;
      EXPECT_EQ(c.provider, res.provider) << what;
    }
    if (i > 0) {
      EXPECT_LE(c.priority, res.trail[i - 1].priority) << what;
    }
    if (listed.empty() || listed.back() != c.provider) {
      listed.push_back(c.provider);
    }
  }
  EXPECT_EQ(chosen_lines, res.kernel != nullptr ? 1 : 0) << what;
  std::vector<std::string> all;
  for (const KernelProvider* p : r.providers()) {
    all.emplace_back(p->name());
  }
  EXPECT_EQ(listed, all) << what;
}

KernelRequest random_request(const World& w, Dice& dice) {
  KernelRequest q;
  q.key = key_pool()[dice.below(key_pool().size())];
  q.allow_tolerance = dice.one_in(3);
  q.tiled_only = dice.one_in(4);
  if (dice.one_in(4)) {
    q.provider = w.providers[dice.below(w.providers.size())].name();
  }
  switch (dice.below(4)) {
    case 0:
      q.layout_id = panel_layout(q.key.weights).id;
      break;
    case 1:
      q.layout_id = kFirstForeignLayout + static_cast<std::uint32_t>(dice.below(3));
      break;
    default:
      break;
  }
  return q;
}

TEST(RegistryModel, RandomRegistriesFollowTheRules) {
  std::size_t found = 0;
  std::size_t missed = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Dice dice(seed);
    World w;
    build(w, dice);
    RegistryConfig config;
    const std::size_t target = dice.below(w.providers.size());
    if (dice.one_in(3) && !w.needs[target].has(kLacks)) {
      config.force_provider = w.providers[target].name();
    } else if (dice.one_in(2)) {
      config.disable = w.providers[target].name();
    }
    if (dice.one_in(3) && !w.names.empty()) {
      config.disable.append(config.disable.empty() ? "" : ",").append(w.names[dice.below(w.names.size())]);
    }
    KernelRegistry r(cpu({kHas}), config);
    for (const Provider& p : w.providers) {
      ASSERT_TRUE(r.add(p).ok());
    }
    ASSERT_TRUE(r.config_status().ok()) << r.config_status().message();
    for (int i = 0; i < 20; ++i) {
      const KernelRequest q = random_request(w, dice);
      const std::string what = "seed " + std::to_string(seed) + "\n" + r.explain(q);
      const Kernel* want = expected(w, config, q);
      const Resolution res = r.resolve(q);
      ASSERT_EQ(res.kernel, want) << what;
      ASSERT_EQ(r.select(q), want) << what;
      ASSERT_EQ(res.status.ok(), want != nullptr) << what;
      check_trail(r, res, what);
      (want != nullptr ? found : missed) += 1;
    }
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(found, 10000u);
  EXPECT_GT(missed, 10000u);
}

}  // namespace
}  // namespace nibblas
