#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles each public header alone, twice in one file, and the umbrella under flags that users may have.
#   headers.sh INCLUDE_DIR COMPILER...
set -euo pipefail
include=$1
shift
strict="-std=c++20 -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wpedantic -Werror"
lenient=(
  "-std=c++20 -O2 -ffast-math -Wall -Werror"
  "-std=c++20 -fno-exceptions -fno-rtti -Wall -Werror"
  "-std=c++2b -DNIBBLAS_STATIC -Wall -Wextra -Werror"
)
count=0
compile() {  # <compiler> <flags> <header>
  # shellcheck disable=SC2086
  printf '#include "%s"\n#include "%s"\nint main() {}\n' "$3" "$3" |
    "$1" $2 -fsyntax-only -I "$include" -x c++ - || { echo "$3 fails with $1 $2"; exit 1; }
  count=$((count + 1))
}

declare -A seen=()
for compiler in "$@"; do
  path=$(readlink -f "$(command -v "$compiler")") || continue
  [[ -z ${seen[$path]-} ]] || continue
  seen[$path]=1
  for header in "$include"/nibblas/*.hpp; do
    compile "$compiler" "$strict" "nibblas/${header##*/}"
  done
  for flags in "${lenient[@]}"; do
    compile "$compiler" "$flags" nibblas/nibblas.hpp
    compile "$compiler" "$flags" nibblas/gguf.hpp
  done
done
[[ $count -gt 0 ]] || { echo "nothing was compiled"; exit 1; }
echo "$count compilations"
