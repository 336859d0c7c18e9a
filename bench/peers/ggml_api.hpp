// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "peers/library.hpp"

// As much of ggml's C interface as one product needs. Everything is opaque but the argument of ggml_init.

namespace nibblas::bench::ggml {

struct Context;
struct Tensor;
struct Graph;
struct Registry;
struct Device;
struct Backend;
struct Buffer;
struct BufferType;
struct ThreadPool;

struct InitParams {
  std::size_t mem_size;
  void* mem_buffer;
  bool no_alloc;
};

/// Larger than ggml's parameters of a thread pool, which only ggml fills and reads.
struct alignas(64) ThreadPoolParams {
  std::byte storage[4096];
};

/// libggml-base.so: tensors and graphs, the same for every CPU.
struct Base {
  Context* (*init)(InitParams) = nullptr;
  void (*free)(Context*) = nullptr;
  std::size_t (*tensor_overhead)() = nullptr;
  std::size_t (*graph_overhead)(std::size_t nodes, bool grads) = nullptr;
  Tensor* (*new_tensor_2d)(Context*, int type, std::int64_t ne0, std::int64_t ne1) = nullptr;
  Tensor* (*mul_mat)(Context*, Tensor* w, Tensor* x) = nullptr;
  Graph* (*new_graph)(Context*, std::size_t nodes, bool grads) = nullptr;
  void (*build_forward)(Graph*, Tensor*) = nullptr;
  Device* (*device)(Registry*, std::size_t index) = nullptr;
  void* (*proc_address)(Registry*, const char* name) = nullptr;
  Backend* (*backend_of)(Device*, const char* params) = nullptr;
  void (*backend_free)(Backend*) = nullptr;
  bool (*supports_op)(Device*, const Tensor*) = nullptr;
  int (*compute)(Backend*, Graph*) = nullptr;
  Buffer* (*buffer_from)(void* memory, std::size_t bytes) = nullptr;
  Buffer* (*buffer_alloc)(BufferType*, std::size_t bytes) = nullptr;
  void* (*buffer_base)(Buffer*) = nullptr;
  void (*buffer_free)(Buffer*) = nullptr;
  std::size_t (*alloc_size)(BufferType*, const Tensor*) = nullptr;
  int (*tensor_alloc)(Buffer*, Tensor*, void* address) = nullptr;
  void (*tensor_set)(Tensor*, const void* data, std::size_t offset, std::size_t bytes) = nullptr;
  void (*log_to)(void (*callback)(int level, const char* text, void* user), void* user) = nullptr;
  void (*thread_pool_params)(ThreadPoolParams*, int threads) = nullptr;

  Status load(Library& library);
};

/// libggml-cpu-<variant>.so: the kernels for one kind of CPU.
struct Variant {
  std::string name;
  Registry* registry = nullptr;
  Device* device = nullptr;
  int (*score)() = nullptr;  ///< 0: this CPU cannot run it
  ThreadPool* (*thread_pool_new)(ThreadPoolParams*) = nullptr;
  void (*thread_pool_free)(ThreadPool*) = nullptr;
  void (*set_threads)(Backend*, int) = nullptr;
  void (*set_thread_pool)(Backend*, ThreadPool*) = nullptr;
  /// Null-terminated: buffers in which weights are kept rearranged.
  BufferType** (*extra_buffer_types)(Device*) = nullptr;

  /// Does not start it yet: its code may be more than this CPU can run.
  Status load(Library& library);
  void start(const Base& base);

 private:
  Registry* (*init_)() = nullptr;
};

}  // namespace nibblas::bench::ggml
