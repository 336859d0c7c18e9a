// SPDX-License-Identifier: Apache-2.0
// Prints what this CPU offers and which kernel each key gets, or README's table (--matrix): run on other CPUs by an
// emulator. Exits with 1 when the
// environment asks for something impossible, and with 2 when a legal key has no kernel.
#include <cstdio>
#include <string>
#include <string_view>

#include "matrix.hpp"
#include "nibblas/registry.hpp"

namespace {

using namespace nibblas;

void print_machine(const KernelRegistry& registry) {
  const CpuInfo& cpu = registry.cpu();
  std::printf("cpu: %s '%s' '%s'\nfeatures: %s\ncaches: l1d %zu l2 %zu l3 %zu\n", cpu.arch.c_str(), cpu.vendor.c_str(),
              cpu.brand.c_str(), to_string(cpu.features).c_str(), cpu.caches.l1d, cpu.caches.l2, cpu.caches.l3);
  for (const KernelProvider* p : registry.providers()) {
    const Availability a = registry.usable(*p);
    std::printf("provider %s: priority %d, %zu kernels, %s\n", std::string(p->name()).c_str(), p->priority(),
                p->kernels().size(), a.usable ? "usable" : a.reason.c_str());
  }
}

bool print_choices(const KernelRegistry& registry) {
  bool complete = true;
  for (const Op op : {Op::matmul, Op::gemv}) {
    for (const DTypeInfo& type : kDTypes) {
      for (const Compute c : {Compute::f32, Compute::int8, Compute::int8_token}) {
        if (!is_legal(type.dtype, c)) {
          continue;
        }
        const Resolution r = registry.resolve({.key = {op, type.dtype, c}});
        const std::string key =
            std::string(to_string(op)) + " " + std::string(type.name) + " " + std::string(to_string(c));
        if (r.kernel == nullptr) {
          std::printf("%s: no kernel: %s\n", key.c_str(), r.status.message().c_str());
          complete = false;
        } else {
          std::printf("%s: %s %s\n", key.c_str(), r.provider.c_str(), r.kernel->name);
        }
      }
    }
  }
  return complete;
}

}  // namespace

int main(int argc, char** argv) {
  const KernelRegistry registry = KernelRegistry::builtin();
  if (argc == 2 && std::string_view(argv[1]) == "--matrix") {
    std::printf("%s", bench::support_matrix(registry).c_str());
    return 0;
  }
  print_machine(registry);
  if (!registry.config_status().ok()) {
    std::printf("config error: %s\n", registry.config_status().message().c_str());
    return 1;
  }
  return print_choices(registry) ? 0 : 2;
}
