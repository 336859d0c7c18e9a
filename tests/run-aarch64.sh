#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-builds for 64-bit Arm and runs there, under user-mode QEMU, what an emulator can run in minutes: the guard and
# the small suites once, then on each CPU model the choice of providers, each instruction set's operations, ggml's golden
# products, the hashes that scalar code on x86 gave, and a covering selection of the parity suite. Every test runs every
# provider that the CPU model can run.
#   tests/run-aarch64.sh [CPU...]    QEMU's names; those this QEMU does not know are left out with a note
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
cpus=("$@")
[[ ${#cpus[@]} -gt 0 ]] || cpus=(cortex-a53 cortex-a76 neoverse-n1 max max,sve=off)
cmake/install-packages.sh cmake ninja-build googletest g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user \
  libxsimd-dev

build=$root/build/aarch64
mkdir -p build/xsimd
# xsimd alone: the rest of /usr/include is of this machine's architecture.
ln -sfn /usr/include/xsimd build/xsimd/xsimd
cmake --preset aarch64 -DNIBBLAS_XSIMD_INCLUDE_DIR="$root/build/xsimd" >build/aarch64.configure.log ||
  { cat build/aarch64.configure.log; exit 1; }
cmake --build --preset aarch64 --parallel "$(nproc)" --target nibblas_guard_objects cpu_test formats_test registry_test \
  nibblas_dispatch_probe nibblas_isa_test nibblas_golden_test nibblas_hashes_test nibblas_parity_test
(cd "$build" && ctest --output-on-failure --no-tests=error -L '^(guard|cpu|formats)$')

known=$(qemu-aarch64 -cpu help || true)  # it exits with 1
tests/readme/matrix.sh check README.md aarch64 \
  qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/tests/registry/nibblas_dispatch_probe" --matrix
on() { qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu "$@"; }
fail() { echo "run-aarch64.sh: $*" >&2; exit 1; }

# The provider that a CPU model must get, for every key.
expected() {
  case $1 in
    cortex-a35 | cortex-a53 | cortex-a57 | cortex-a72 | a64fx) echo neon ;;
    cortex-a55 | cortex-a76 | neoverse-n1) echo neon_dotprod ;;
    *) echo neon_i8mm ;;
  esac
}
probe() { on "$1" "$build/tests/registry/nibblas_dispatch_probe"; }
dispatch() {  # <cpu>
  local want others output
  want=$(expected "$1")
  others=$(probe "$1" | grep -E '^(matmul|gemv) ' | grep -v ": $want " || true)
  [[ -z $others ]] || fail "$1 should get $want for every key, got"$'\n'"$others"
  output=$(NIBBLAS_MAX_ISA=scalar probe "$1")
  grep -q '^matmul q4_0 int8: scalar ' <<<"$output" || fail "$1: NIBBLAS_MAX_ISA=scalar does not hold"
  output=$(NIBBLAS_MAX_ISA=neon probe "$1")
  grep -q '^matmul q4_0 int8: neon ' <<<"$output" || fail "$1: NIBBLAS_MAX_ISA=neon does not hold"
  case $want in
    neon) lacks "$1" neon_dotprod dotprod ;;
    neon_dotprod) lacks "$1" neon_i8mm i8mm ;;
  esac
}
lacks() {  # <cpu> <provider> <feature>
  local output
  output=$(NIBBLAS_PROVIDER=$2 probe "$1" || true)
  grep -q "config error: NIBBLAS_PROVIDER=$2: cpu lacks $3" <<<"$output" ||
    fail "$1 has no $3 and says so to nobody: $output"
}
suite() {  # <cpu> <test binary> [argument...]
  local log
  log=$(on "$1" "$build/tests/$2" --gtest_brief=1 "${@:3}" 2>&1) || fail "$1: $2"$'\n'"$(tail -n 40 <<<"$log")"
  grep -qE '\[  PASSED  \] [1-9]' <<<"$log" || fail "$1: $2 ran no test"
}

# All packing ranges, all kinds of activations and one row against many, for every kernel; and every pair of settings
# (shapes, forms of W, threads, tile plans, kinds of data: the longest of these suites) for a kernel of each loop, once a
# provider.
parity='*Layouts.*:*PreparedRows.*:*Shapes.GemvIsMatmulOfOneRow/*:Providers.*'
settings=$(printf ':*Settings.*/matmul_%s_neon*' f32_f32 q4_0_int8 q6_k_int8 q4_k_f32 tq2_0_f32 bitnet_b158_int8_token)
check() {  # <cpu>
  local cpu=$1 all= start=$SECONDS
  if ! grep -qwF -- "${cpu%%,*}" <<<"$known"; then
    echo "$cpu: left out, this QEMU does not know it"
    return
  fi
  dispatch "$cpu"
  suite "$cpu" isa/nibblas_isa_test
  suite "$cpu" parity/nibblas_golden_test
  suite "$cpu" parity/nibblas_hashes_test
  case $cpu in
    cortex-a53) all=${settings//_neon\*/_neon}${settings//_neon\*/_xsimd_neon64} ;;
    neoverse-n1 | max) all=${settings//_neon\*/_$(expected "$cpu")} ;;
  esac
  suite "$cpu" parity/nibblas_parity_test --gtest_filter="$parity$all"
  echo "$cpu: $(expected "$cpu"), all passed, $((SECONDS - start)) s"
}
# As many models at once as there are cores: these programs have little work for a second thread.
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
running=0
for cpu in "${cpus[@]}"; do
  if ((running == $(nproc))); then
    wait -n
    running=$((running - 1))
  fi
  check "$cpu" &
  running=$((running + 1))
done
while ((running-- > 0)); do wait -n; done
