#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds Release and runs the tests. Arguments go to ctest: tests/run.sh -L parity
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/cmake/install-packages.sh" g++ cmake ninja-build binutils pkg-config libgtest-dev libbenchmark-dev libfmt-dev \
  libcli11-dev libxsimd-dev nlohmann-json3-dev qemu-user

build=$root/build/release
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNIBBLAS_BUILD_TESTS=ON
cmake --build "$build" --parallel "$(nproc)"
cd "$build"
exec ctest --output-on-failure --parallel "$(nproc)" "$@"
