#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How near the NEON kernels come to the limits of Arm cores, by LLVM's models of their pipelines: for machines that are
# not at hand. Installs what is missing, compiles the kernels with clang 19, and prints Markdown tables.
#   bench/model.sh [CORE...]    as in clang's -mcpu
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cores=("$@")
[[ ${#cores[@]} -gt 0 ]] || cores=(cortex-a55 cortex-a76 neoverse-n1 neoverse-v1)
"$root/cmake/install-packages.sh" clang-19 llvm-19 g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user python3 >&2

llvm=/usr/lib/llvm-19/bin
build=$root/build/model
mkdir -p "$build"
flags=(--target=aarch64-linux-gnu -std=c++20 -O3 -DNDEBUG -DNIBBLAS_STATIC -fno-exceptions -ffp-contract=off
       -I"$root/include" -I"$root/src")
objects=()
for isa in neon:armv8-a neon_dotprod:armv8.2-a+dotprod neon_i8mm:armv8.2-a+dotprod+i8mm; do
  object=$build/${isa%%:*}.o
  if [[ ! -e $object || -n $(find "$root/src" "$root/include" -newer "$object" -name '*.[ch]pp' -print -quit) ]]; then
    "$llvm/clang++" "${flags[@]}" -march="${isa##*:}" -c "$root/src/isa/${isa%%:*}.cpp" -o "$object"
    # A section of their own, so that QEMU can be told to follow nothing else.
    "$llvm/llvm-objcopy" --rename-section .text=model_text "$object"
  fi
  objects+=("$object")
done
"$llvm/clang++" "${flags[@]}" -static "$root/bench/model/tile.cpp" "${objects[@]}" -o "$build/tile"
exec python3 "$root/bench/model/trace.py" "$llvm" "$build/tile" "${cores[@]}"
