#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what `nibblas-bench run --peer ggml,openblas,onednn` loads: ggml's prebuilt libraries (npm) into build/peers, or
# the folder named as argument; OpenBLAS and oneDNN as system packages. None of it is needed to build.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/peers}
packages=(libopenblas0-pthread libdnnl2)
command -v npm >/dev/null || packages+=(npm)
"$root/cmake/install-packages.sh" "${packages[@]}"
mkdir -p "$folder"
npm install --prefix "$folder" --no-save --ignore-scripts --no-audit --no-fund @node-llama-cpp/linux-x64@3.21.1
