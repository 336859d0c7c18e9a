// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "fp_environment.hpp"

// The only file that knows threads: workers take chunks of the plan from a counter.

namespace nibblas {
namespace {

struct Job {
  const TiledProduct& product;
  const ProductItems& items;
  std::byte* scratch;
  std::atomic<std::size_t> next;
  std::atomic<std::uint64_t> weight_bytes{0};
};

/// Where element k of an activation tile starts: x[K][T] or blocks of 32.
std::size_t activation_range_offset(Compute c, std::size_t tokens, std::size_t k) noexcept {
  if (c == Compute::f32) return k * tokens * sizeof(float);
  return k / kActBlock * tokens * (kActBlock + sizeof(Int8Token));
}

/// Tokens between asking for a row of Y and writing it.
constexpr std::size_t kStoreAhead = 4;

/// Panels that are handed to the kernel together, wherever their bytes are at the moment.
struct Group {
  std::size_t size = 0;
  std::size_t panel[kMaxTilePanels] = {};
  const std::byte* data[kMaxTilePanels] = {};
};

class Worker {
 public:
  Worker(Job& job, std::size_t slot) noexcept
      : job_(job),
        product_(job.product),
        plan_(job.product.plan),
        layout_(panel_layout(job.product.input.weights)),
        state_(reinterpret_cast<float*>(job.scratch + slot * product_.scratch.total())),
        packed_(job.scratch + slot * product_.scratch.total() + product_.scratch.state) {}

  ~Worker() { job_.weight_bytes.fetch_add(weight_bytes_, std::memory_order_relaxed); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Chunks of all items are counted through.
  void run_chunk(std::size_t task) noexcept {
    const std::size_t chunk = task % plan_.chunks();
    if (const std::size_t i = task / plan_.chunks(); i != item_index_) {
      item_ = job_.items.at(i, store_);
      item_index_ = i;
    }
    const Range panels = plan_.chunk_panels(chunk);
    const Range tiles = plan_.chunk_tiles(chunk);
    Group group;
    for (std::size_t g = 0; g < plan_.groups(panels); ++g) {
      group.size = plan_.group_size(panels, g);
      for (std::size_t i = 0; i < group.size; ++i) group.panel[i] = plan_.group_panel(panels, g, i);
      if (plan_.pack_once) pack(group, 0, product_.input.K);
      for (std::size_t t = tiles.begin; t < tiles.end; t += plan_.tile_group) {
        run_tiles(group, {t, std::min(t + plan_.tile_group, tiles.end)}, t == tiles.begin);
      }
    }
  }

 private:
  /// Each K range meets all the tiles before the next one comes.
  void run_tiles(Group& group, Range tiles, bool first) noexcept {
    const std::size_t K = product_.input.K;
    TileArgs a;
    a.panels = group.data;
    a.n_panels = group.size;
    a.K = K;
    if (takes_rows(group, tiles)) {
      if (first) weight_bytes_ += layout_.range_bytes(0, K);
      product_.kernel->tiled.rows(
          {item_.weights.view, group.panel[0] * kPanelRows, item_.x->tile(tiles.begin), state(0)});
      return store(group, tiles.begin, state(0));
    }
    for (std::size_t k0 = 0; k0 < K; k0 += plan_.k_chunk) {
      a.k0 = k0;
      a.k1 = std::min(k0 + plan_.k_chunk, K);
      if (first) weight_bytes_ += group.size * layout_.range_bytes(a.k0, a.k1);
      locate(group, a.k0, a.k1);
      for (std::size_t tile = tiles.begin; tile < tiles.end; ++tile) {
        a.x = item_.x->tile(tile);
        a.tokens = item_.x->tokens(tile);
        a.state = state(tile - tiles.begin);
        look_ahead(a, tile + 1, tiles.end);
        product_.kernel->tiled.tile(a);
      }
    }
    for (std::size_t tile = tiles.begin; tile < tiles.end; ++tile) store(group, tile, state(tile - tiles.begin));
  }

  /// A single token on rows of a file, which the kernel can do without a panel.
  bool takes_rows(const Group& group, Range tiles) const noexcept {
    return product_.kernel->tiled.rows != nullptr && item_.weights.packed == nullptr && group.size == 1 &&
           tiles.size() == 1 && item_.x->tokens(tiles.begin) == 1 &&
           (group.panel[0] + 1) * kPanelRows <= product_.input.N;
  }

  /// The kernel asks for the next tile's K range while it computes this one: X does not fit L2, and its ranges are too
  /// short for the hardware to run ahead. (All at once, before the call, would take a tenth of its time.)
  void look_ahead(TileArgs& a, std::size_t tile, std::size_t end) const noexcept {
    a.ahead = nullptr;
    a.ahead_bytes = 0;
    if (tile >= end) return;
    const Compute compute = product_.input.compute;
    const std::size_t tokens = item_.x->tokens(tile);
    const std::size_t begin = activation_range_offset(compute, tokens, a.k0);
    a.ahead = item_.x->tile(tile) + begin;
    a.ahead_bytes = activation_range_offset(compute, tokens, a.k1) - begin;
  }

  float* state(std::size_t i) const noexcept {
    return state_ + i * (product_.scratch.state / plan_.tile_group / sizeof(float));
  }

  /// Where blocks [k0, k1) of the group lie; packs them when they are still rows of a file.
  void locate(Group& group, std::size_t k0, std::size_t k1) noexcept {
    if (item_.weights.packed != nullptr) {
      for (std::size_t i = 0; i < group.size; ++i) {
        group.data[i] = item_.weights.packed->panel(group.panel[i]) + layout_.range_bytes(0, k0);
      }
    } else if (plan_.pack_once) {
      for (std::size_t i = 0; i < group.size; ++i) group.data[i] = slot(i) + layout_.range_bytes(0, k0);
    } else {
      pack(group, k0, k1);
    }
  }

  void pack(Group& group, std::size_t k0, std::size_t k1) noexcept {
    for (std::size_t i = 0; i < group.size; ++i) {
      product_.kernel->tiled.pack({item_.weights.view, group.panel[i] * kPanelRows, k0, k1, slot(i)});
      group.data[i] = slot(i);
    }
  }

  std::byte* slot(std::size_t i) const noexcept { return packed_ + i * (product_.scratch.packed / plan_.group); }

  /// A line of Y comes from memory before it is written, and rows of Y are far apart.
  void ask_for_row(const Group& group, float* y) const noexcept {
    for (std::size_t i = 0; i < group.size; ++i) __builtin_prefetch(y + group.panel[i] * kPanelRows, 1);
  }

  /// Finished sums to Y; a last panel has rows that do not exist.
  void store(const Group& group, std::size_t tile, const float* state) noexcept {
    const std::size_t slot_floats = product_.input.state_floats * kPanelRows;
    const std::size_t tokens = item_.x->tokens(tile);
    const std::size_t N = product_.input.N;
    for (std::size_t t = 0; t < tokens; ++t) {
      float* y = item_.y.data + (item_.x->first_token(tile) + t) * item_.y.stride;
      if (t + kStoreAhead < tokens) ask_for_row(group, y + kStoreAhead * item_.y.stride);
      for (std::size_t i = 0; i < group.size; ++i) {
        const std::size_t row = group.panel[i] * kPanelRows;
        const float* sums = state + (i * tokens + t) * slot_floats;
        if (row + kPanelRows <= N) {
          std::memcpy(y + row, sums, kPanelRows * sizeof(float));
        } else {
          std::memcpy(y + row, sums, (N - row) * sizeof(float));
        }
      }
    }
  }

  Job& job_;
  const TiledProduct& product_;
  const TilePlan& plan_;
  const PanelLayout& layout_;
  std::size_t item_index_ = SIZE_MAX;
  ProductItem item_;
  ProductItems::Store store_;
  float* state_;
  std::byte* packed_;
  std::uint64_t weight_bytes_ = 0;
};

/// Worker `slot`: its own chunk first, then whatever is left.
void work(void* arg, std::size_t slot) noexcept {
  Job& job = *static_cast<Job*>(arg);
  const FpEnvironment env;
  Worker worker(job, slot);
  const std::size_t chunks = job.items.count() * job.product.plan.chunks();
  for (std::size_t c = slot; c < chunks; c = job.next.fetch_add(1, std::memory_order_relaxed)) worker.run_chunk(c);
}

/// A single product, whose operands exist.
class OneItem final : public ProductItems {
 public:
  explicit OneItem(const ProductItem& item) noexcept : ProductItems(1), item_(item) {}
  ProductItem at(std::size_t, Store&) const noexcept override { return item_; }

 private:
  ProductItem item_;
};

}  // namespace

TiledProduct make_product(const Kernel& kernel, const WeightSource& w, std::size_t M, const Context& context,
                          const TileOverride& force) noexcept {
  return make_product_of(1, kernel, w, M, context, force);
}

TiledProduct make_product_of(std::size_t count, const Kernel& kernel, const WeightSource& w, std::size_t M,
                             const Context& context, const TileOverride& force) noexcept {
  TiledProduct p;
  p.kernel = &kernel;
  p.weights = w;
  p.input.M = M;
  p.input.N = w.N();
  p.input.K = w.K();
  p.input.weights = w.dtype();
  p.input.compute = kernel.key.compute;
  p.input.zero_copy = w.view != nullptr;
  const TiledKernel& tiled = kernel.tiled;
  p.input.k_step = tiled.k_step;
  p.input.state_floats = tiled.state_floats;
  p.input.streams = M == 1 && tiled.streams_of_one != 0 ? tiled.streams_of_one : tiled.streams;
  const std::size_t threads = std::max<std::size_t>(executor_of(context).concurrency(), 1);
  p.input.threads = ceil_div(threads, count);
  p.input.caches = caches_of(context);
  p.input.force = force;
  p.plan = plan(p.input);
  p.scratch = worker_scratch(p.input, p.plan);
  p.workers = count == 1 ? p.plan.threads : std::min(threads, count * p.plan.chunks());
  return p;
}

std::uint64_t run(const TiledProduct& product, const ProductItems& items, std::byte* scratch,
                  Executor& executor) noexcept {
  Job job{product, items, scratch, product.workers};
  executor.parallel_for(product.workers, {work, &job});
  return job.weight_bytes.load(std::memory_order_relaxed);
}

std::uint64_t run(const TiledProduct& product, const Activations& x, const MatrixView& y, std::byte* scratch,
                  Executor& executor) noexcept {
  return run(product, OneItem({product.weights, &x, y}), scratch, executor);
}

}  // namespace nibblas
