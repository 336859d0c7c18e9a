// SPDX-License-Identifier: Apache-2.0
#include "builtin_providers.hpp"

#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "cpu_detect.hpp"
#include "immortal.hpp"

namespace nibblas {

namespace {

// The one list of ISAs. No translation unit registers itself: static linkers drop objects that nobody refers to.
constexpr const KernelTable* kTables[] = {
#if defined(NIBBLAS_HAVE_SCALAR)
    &nibblas_isa_scalar,
#endif
#if defined(NIBBLAS_HAVE_XSIMD_AVX2)
    &nibblas_isa_xsimd_avx2,
#endif
#if defined(NIBBLAS_HAVE_XSIMD_AVX512)
    &nibblas_isa_xsimd_avx512,
#endif
#if defined(NIBBLAS_HAVE_AVX2)
    &nibblas_isa_avx2,
#endif
#if defined(NIBBLAS_HAVE_AVX512)
    &nibblas_isa_avx512,
#endif
#if defined(NIBBLAS_HAVE_XSIMD_NEON64)
    &nibblas_isa_xsimd_neon64,
#endif
#if defined(NIBBLAS_HAVE_NEON)
    &nibblas_isa_neon,
#endif
#if defined(NIBBLAS_HAVE_NEON_DOTPROD)
    &nibblas_isa_neon_dotprod,
#endif
#if defined(NIBBLAS_HAVE_NEON_I8MM)
    &nibblas_isa_neon_i8mm,
#endif
    nullptr,  // an array cannot be empty, the list can
};
constexpr std::size_t kCount = std::size(kTables) - 1;

struct Builtins {
  template <std::size_t... I>
  explicit Builtins(std::index_sequence<I...>) noexcept : providers{{TableProvider(*kTables[I])...}} {}

  std::array<TableProvider, kCount> providers;
};

}  // namespace

Availability TableProvider::available(const CpuInfo& cpu) const {
  std::string why = why_missing(cpu, table_.needs);
  return {why.empty(), std::move(why)};
}

std::span<const TableProvider> builtin_providers() noexcept {
  static Immortal<Builtins> builtins(std::make_index_sequence<kCount>{});
  return builtins.get().providers;
}

}  // namespace nibblas
