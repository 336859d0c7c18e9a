// SPDX-License-Identifier: Apache-2.0
#include "peers/ggml_api.hpp"

namespace nibblas::bench::ggml {

Status Base::load(Library& l) {
  const bool all =
      l.find(init, "ggml_init") && l.find(free, "ggml_free") && l.find(tensor_overhead, "ggml_tensor_overhead") &&
      l.find(graph_overhead, "ggml_graph_overhead_custom") && l.find(new_tensor_2d, "ggml_new_tensor_2d") &&
      l.find(mul_mat, "ggml_mul_mat") && l.find(new_graph, "ggml_new_graph_custom") &&
      l.find(build_forward, "ggml_build_forward_expand") && l.find(device, "ggml_backend_reg_dev_get") &&
      l.find(proc_address, "ggml_backend_reg_get_proc_address") && l.find(backend_of, "ggml_backend_dev_init") &&
      l.find(backend_free, "ggml_backend_free") && l.find(supports_op, "ggml_backend_dev_supports_op") &&
      l.find(compute, "ggml_backend_graph_compute") && l.find(buffer_from, "ggml_backend_cpu_buffer_from_ptr") &&
      l.find(buffer_alloc, "ggml_backend_buft_alloc_buffer") && l.find(buffer_base, "ggml_backend_buffer_get_base") &&
      l.find(buffer_free, "ggml_backend_buffer_free") && l.find(alloc_size, "ggml_backend_buft_get_alloc_size") &&
      l.find(tensor_alloc, "ggml_backend_tensor_alloc") && l.find(tensor_set, "ggml_backend_tensor_set") &&
      l.find(log_to, "ggml_log_set") && l.find(thread_pool_params, "ggml_threadpool_params_init");
  return all ? Status{} : l.missing();
}

Status Variant::load(Library& l) {
  const bool all = l.find(score, "ggml_backend_score") && l.find(init_, "ggml_backend_init") &&
                   l.find(thread_pool_new, "ggml_threadpool_new") && l.find(thread_pool_free, "ggml_threadpool_free") &&
                   l.find(set_threads, "ggml_backend_cpu_set_n_threads") &&
                   l.find(set_thread_pool, "ggml_backend_cpu_set_threadpool");
  return all ? Status{} : l.missing();
}

void Variant::start(const Base& base) {
  registry = init_();
  device = base.device(registry, 0);
  extra_buffer_types =
      reinterpret_cast<BufferType** (*)(Device*)>(base.proc_address(registry, "ggml_backend_dev_get_extra_bufts"));
}

}  // namespace nibblas::bench::ggml
