// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "peers/library.hpp"

// As much of the C interface of oneDNN 2.x as one f32 product needs.

namespace nibblas::bench::onednn {

struct Engine;
struct Stream;
struct PrimitiveDesc;
struct Primitive;
struct Memory;

/// Larger than any descriptor of version 2 (the greatest has 2800 bytes), which only oneDNN fills and reads.
struct alignas(64) Descriptor {
  std::byte storage[8192];
};

struct Argument {
  int index;
  Memory* memory;
};

// Values of its enumerations.
inline constexpr int kCpu = 1;
inline constexpr int kF32 = 3;
inline constexpr int kAnyLayout = 1;
inline constexpr int kRows = 3;      ///< "ab"
inline constexpr int kColumns = 22;  ///< "ba": its K x N weights as N rows of K
inline constexpr int kSource = 1;
inline constexpr int kWeights = 33;
inline constexpr int kDestination = 17;
inline constexpr int kWeightsLayout = 131;  ///< a query
inline constexpr unsigned kDefaultStream = 1;
inline constexpr int kSse41 = 0x1;
inline constexpr int kAvx2 = 0x7;
inline constexpr int kAvx512Vnni = 0x67;

struct Api {
  int (*set_max_isa)(int) = nullptr;
  int (*effective_isa)() = nullptr;
  int (*engine_create)(Engine**, int kind, std::size_t index) = nullptr;
  int (*engine_destroy)(Engine*) = nullptr;
  int (*stream_create)(Stream**, Engine*, unsigned flags) = nullptr;
  int (*stream_wait)(Stream*) = nullptr;
  int (*stream_destroy)(Stream*) = nullptr;
  int (*layout_init)(Descriptor*, int dims, const std::int64_t* sizes, int type, int layout) = nullptr;
  std::size_t (*layout_bytes)(const Descriptor*) = nullptr;
  int (*matmul_init)(Descriptor*, const Descriptor* src, const Descriptor* weights, const Descriptor* bias,
                     const Descriptor* dst) = nullptr;
  int (*primitive_desc_create)(PrimitiveDesc**, const Descriptor* op, const void* attributes, Engine*,
                               const PrimitiveDesc* hint) = nullptr;
  const Descriptor* (*query_layout)(const PrimitiveDesc*, int what, int index) = nullptr;
  int (*primitive_desc_destroy)(PrimitiveDesc*) = nullptr;
  int (*reorder_create)(PrimitiveDesc**, const Descriptor* src, Engine*, const Descriptor* dst, Engine*,
                        const void* attributes) = nullptr;
  int (*primitive_create)(Primitive**, const PrimitiveDesc*) = nullptr;
  int (*execute)(const Primitive*, Stream*, int count, const Argument*) = nullptr;
  int (*primitive_destroy)(Primitive*) = nullptr;
  int (*memory_create)(Memory**, const Descriptor*, Engine*, void* data) = nullptr;
  int (*memory_destroy)(Memory*) = nullptr;

  Status load(Library& l) {
    const bool all =
        l.find(set_max_isa, "dnnl_set_max_cpu_isa") && l.find(effective_isa, "dnnl_get_effective_cpu_isa") &&
        l.find(engine_create, "dnnl_engine_create") && l.find(engine_destroy, "dnnl_engine_destroy") &&
        l.find(stream_create, "dnnl_stream_create") && l.find(stream_wait, "dnnl_stream_wait") &&
        l.find(stream_destroy, "dnnl_stream_destroy") && l.find(layout_init, "dnnl_memory_desc_init_by_tag") &&
        l.find(layout_bytes, "dnnl_memory_desc_get_size") && l.find(matmul_init, "dnnl_matmul_desc_init") &&
        l.find(primitive_desc_create, "dnnl_primitive_desc_create") &&
        l.find(query_layout, "dnnl_primitive_desc_query_md") &&
        l.find(primitive_desc_destroy, "dnnl_primitive_desc_destroy") &&
        l.find(reorder_create, "dnnl_reorder_primitive_desc_create") &&
        l.find(primitive_create, "dnnl_primitive_create") && l.find(execute, "dnnl_primitive_execute") &&
        l.find(primitive_destroy, "dnnl_primitive_destroy") && l.find(memory_create, "dnnl_memory_create") &&
        l.find(memory_destroy, "dnnl_memory_destroy");
    return all ? Status{} : l.missing();
  }
};

}  // namespace nibblas::bench::onednn
