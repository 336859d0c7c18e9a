// SPDX-License-Identifier: Apache-2.0
#include "parity/covering_array.hpp"

#include <algorithm>
#include <numeric>

#include "support/fill.hpp"

namespace nibblas::test {
namespace {

class Pairs {
 public:
  explicit Pairs(const std::vector<std::size_t>& levels) : first_(levels.size()) {
    std::exclusive_scan(levels.begin(), levels.end(), first_.begin(), std::size_t{0});
    values_ = std::accumulate(levels.begin(), levels.end(), std::size_t{0});
    open_.assign(values_ * values_, false);
    for (std::size_t f = 0; f < levels.size(); ++f) {
      for (std::size_t g = f + 1; g < levels.size(); ++g) {
        for (std::size_t a = 0; a < levels[f]; ++a) {
          for (std::size_t b = 0; b < levels[g]; ++b) list_.push_back({f, a, g, b});
        }
      }
    }
    for (const Pair& p : list_) open_[index(p)] = true;
  }

  struct Pair {
    std::size_t f, a, g, b;
  };
  bool open(std::size_t f, std::size_t a, std::size_t g, std::size_t b) const {
    return f < g ? open_[index({f, a, g, b})] : open_[index({g, b, f, a})];
  }
  void close(const std::vector<std::size_t>& levels) {
    for (std::size_t f = 0; f < levels.size(); ++f) {
      for (std::size_t g = f + 1; g < levels.size(); ++g) open_[index({f, levels[f], g, levels[g]})] = false;
    }
    std::erase_if(list_, [this](const Pair& p) { return !open_[index(p)]; });
  }
  const std::vector<Pair>& list() const { return list_; }

 private:
  std::size_t index(const Pair& p) const { return (first_[p.f] + p.a) * values_ + first_[p.g] + p.b; }

  std::vector<std::size_t> first_;
  std::size_t values_ = 0;
  std::vector<bool> open_;
  std::vector<Pair> list_;
};

/// The level of factor f that covers most open pairs with the factors chosen so far; a random one of the best.
std::size_t best_level(const Pairs& pairs, std::size_t f, std::size_t levels, const std::vector<std::size_t>& chosen,
                       const std::vector<std::size_t>& done, Random& random) {
  std::size_t best = 0;
  std::size_t best_gain = 0;
  const std::size_t start = random.below(levels);
  for (std::size_t i = 0; i < levels; ++i) {
    const std::size_t level = (start + i) % levels;
    const auto gain = static_cast<std::size_t>(
        std::count_if(done.begin(), done.end(), [&](std::size_t g) { return pairs.open(f, level, g, chosen[g]); }));
    if (i == 0 || gain > best_gain) {
      best = level;
      best_gain = gain;
    }
  }
  return best;
}

}  // namespace

std::vector<std::vector<std::size_t>> covering_array(const std::vector<std::size_t>& levels, std::uint64_t seed) {
  Random random(seed);
  Pairs pairs(levels);
  std::vector<std::vector<std::size_t>> cases;
  while (!pairs.list().empty()) {
    const Pairs::Pair start = pairs.list()[random.below(pairs.list().size())];
    std::vector<std::size_t> chosen(levels.size());
    chosen[start.f] = start.a;
    chosen[start.g] = start.b;
    std::vector<std::size_t> done{start.f, start.g};
    // Factors with many levels first: they have most pairs to cover.
    std::vector<std::size_t> order(levels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t f, std::size_t g) { return levels[f] > levels[g]; });
    for (const std::size_t f : order) {
      if (f == start.f || f == start.g) continue;
      chosen[f] = best_level(pairs, f, levels[f], chosen, done, random);
      done.push_back(f);
    }
    pairs.close(chosen);
    cases.push_back(std::move(chosen));
  }
  return cases;
}

}  // namespace nibblas::test
