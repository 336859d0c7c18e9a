#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles each public header alone, twice in one file, under flags that users' translation units may have.
#   headers.sh INCLUDE_DIR COMPILER...
set -euo pipefail
include=$1
shift
flag_sets=(
  "-std=c++20 -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wpedantic -Werror"
  "-std=c++20 -O2 -ffast-math -Wall -Werror"
  "-std=c++20 -fno-exceptions -fno-rtti -Wall -Werror"
  "-std=c++2b -DNIBBLAS_STATIC -Wall -Wextra -Werror"
)
count=0
for compiler in "$@"; do
  command -v "$compiler" >/dev/null || continue
  for header in "$include"/nibblas/*.hpp; do
    name=nibblas/${header##*/}
    for flags in "${flag_sets[@]}"; do
      # shellcheck disable=SC2086
      printf '#include "%s"\n#include "%s"\nint main() {}\n' "$name" "$name" |
        "$compiler" $flags -fsyntax-only -I "$include" -x c++ - || { echo "$name fails with $compiler $flags"; exit 1; }
      count=$((count + 1))
    done
  done
done
[[ $count -gt 0 ]] || { echo "nothing was compiled"; exit 1; }
echo "$count compilations"
