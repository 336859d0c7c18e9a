// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>

#include "copies.hpp"
#include "nibblas/executor.hpp"
#include "nibblas/formats.hpp"
#include "peers/peer.hpp"

namespace nibblas::bench {
namespace {

constexpr std::size_t kRowsATask = 64;

float dot(const float* a, const float* b, std::size_t n) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

class ScalarBaseline final : public Peer {
 public:
  std::string_view name() const noexcept override { return "scalar"; }
  Status supports(DType, Compute) const override { return {}; }
  std::string variant() const override { return "dequantise, then multiply"; }
  std::size_t copies() const override { return arena_.copies(); }
  void flush_if_needed() const override { arena_.flush_if_needed(); }

  Status prepare(const PeerTask& task, std::string_view) override {
    task_ = task;
    if (Status s = arena_.reserve(task.w.bytes, task.hot); !s) return s;
    for (std::size_t i = 0; i < arena_.copies(); ++i) std::memcpy(arena_.at(i), task.w.data, task.w.bytes);
    pool_ = task.threads > 1 ? std::make_unique<ThreadPool>(task.threads) : nullptr;
    return {};
  }

  Status run(std::size_t copy) override {
    Job job{*this, task_.w, {StatusCode::ok}};
    job.w.data = arena_.at(copy);
    Executor& executor = pool_ != nullptr ? *pool_ : serial_executor();
    executor.parallel_for((task_.w.N + kRowsATask - 1) / kRowsATask, {multiply_rows, &job});
    const StatusCode failed = job.failed.load();
    return failed == StatusCode::ok ? Status{} : Status{failed, "dequantize failed"};
  }

  void release() override {
    arena_.release();
    pool_.reset();
  }

 private:
  struct Job {
    const ScalarBaseline& self;
    WeightView w;
    std::atomic<StatusCode> failed;
  };

  static void multiply_rows(void* arg, std::size_t i) noexcept {
    Job& job = *static_cast<Job*>(arg);
    const PeerTask& task = job.self.task_;
    static thread_local std::vector<float> row;
    row.resize(job.w.K);
    for (std::size_t n = i * kRowsATask; n < std::min((i + 1) * kRowsATask, job.w.N); ++n) {
      if (const Status s = dequantize(job.w, n, {row.data(), 1, job.w.K}); !s) {
        job.failed = s.code();
        return;
      }
      for (std::size_t m = 0; m < task.x.rows; ++m) {
        task.y.data[m * task.y.stride + n] = dot(task.x.data + m * task.x.stride, row.data(), job.w.K);
      }
    }
  }

  PeerTask task_;
  CopyArena arena_;
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace

std::unique_ptr<Peer> make_scalar_baseline() { return std::make_unique<ScalarBaseline>(); }

}  // namespace nibblas::bench
