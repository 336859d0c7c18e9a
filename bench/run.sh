#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds Release and runs the main job: info, limits and run over all formats. Arguments go to
# nibblas-bench instead: bench/run.sh run --gguf model.gguf
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/cmake/install-packages.sh" g++ cmake ninja-build libbenchmark-dev libfmt-dev libcli11-dev \
  libxsimd-dev nlohmann-json3-dev

# The folder of tests/run.sh; until that has run, without the tests, which would want GoogleTest. The build talks on
# stderr: stdout is the report.
build=$root/build/release
tests=()
[[ -f $build/CMakeCache.txt ]] || tests=(-DNIBBLAS_BUILD_TESTS=OFF)
{
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${tests[@]}"
  cmake --build "$build" --parallel "$(nproc)" --target nibblas-bench
} >&2

if [ $# -gt 0 ]; then
  exec "$build/bench/nibblas-bench" "$@"
fi
for command in info limits run; do
  "$build/bench/nibblas-bench" "$command"
  echo
done
