#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Uses nibblas as another project would.
#   consume.sh static|shared|hostile|subdirectory
# static        installs the library, moves the prefix, builds and runs project/ with find_package and with pkg-config
# shared        the same with shared libraries; looks at the exported symbols too
# hostile       the same, the library built with flags that it must survive
# subdirectory  builds project/ with add_subdirectory, every optional ISA switched off
# Environment: SOURCE (of nibblas), WORK (scratch), CMAKE, GENERATOR, CXX, NM, and BUILT, a finished static build or empty.
set -euo pipefail
mode=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$WORK/$mode
mkdir -p "$work"

configure() {  # <source> <build> <option>...
  "$CMAKE" -S "$1" -B "$2" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" "${@:3}" >"$2.log" 2>&1 || { cat "$2.log"; exit 1; }
}
build() {  # <build>
  "$CMAKE" --build "$1" --parallel 2 >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }
}

# What is tested here does not depend on which kernels there are, and these take long to compile.
no_xsimd=(-DNIBBLAS_ISA_XSIMD_AVX2=OFF -DNIBBLAS_ISA_XSIMD_AVX512=OFF)
scalar_only=(-DNIBBLAS_ISA_AVX2=OFF -DNIBBLAS_ISA_AVX512=OFF "${no_xsimd[@]}")

if [[ $mode == subdirectory ]]; then
  configure "$here/project" "$work/build" -DNIBBLAS_SOURCE="$SOURCE" -DCMAKE_BUILD_TYPE=Debug \
    "${scalar_only[@]}"
  build "$work/build"
  exec "$work/build/consumer"
fi

case $mode in
  static) options=(-DBUILD_SHARED_LIBS=OFF) ;;
  shared) options=(-DBUILD_SHARED_LIBS=ON "${scalar_only[@]}") ;;
  hostile) options=(-DBUILD_SHARED_LIBS=ON -DNIBBLAS_ISA_AVX512=OFF "-DCMAKE_CXX_FLAGS=-Ofast -flto -march=native -ffp-contract=fast") ;;
  *) echo "unknown mode $mode" >&2; exit 2 ;;
esac
if [[ $mode == static && -n $BUILT ]]; then
  library=$BUILT
else
  library=$work/library
  configure "$SOURCE" "$library" -DCMAKE_BUILD_TYPE=Release -DNIBBLAS_BUILD_TESTS=OFF -DNIBBLAS_BUILD_BENCH=OFF "${no_xsimd[@]}" \
    "${options[@]}"
  build "$library"
fi

# A prefix that is moved after the installation: nothing in it may know where it was.
rm -rf "$work/first" "$work/moved to"
"$CMAKE" --install "$library" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved to"
prefix="$work/moved to"
for path in "$work" "$library" "$SOURCE"; do
  if grep -rlF -- "$path" "$prefix" --include='*.cmake' --include='*.pc' --include='*.hpp'; then
    echo "installed files mention $path"
    exit 1
  fi
done
libdir=$(dirname "$(find "$prefix" -name 'libnibblas.*' | head -n 1)")

if [[ $mode != static ]]; then
  # std:: templates are visible by declaration; everything else that is exported must be ours.
  foreign=$("$NM" -DC --defined-only "$libdir/libnibblas.so" | awk '$2 ~ /^[A-Z]$/' | grep -vE 'nibblas|^[0-9a-f]* [VWu] std::| std::' || true)
  [[ -z $foreign ]] || { echo "exported by libnibblas.so: $foreign"; exit 1; }
  ! "$NM" -D --defined-only "$libdir/libnibblas.so" | grep -w 'nibblas_isa_[a-z0-9_]*' || exit 1
fi

for type in Debug Release; do
  rm -rf "$work/use-$type"
  configure "$here/project" "$work/use-$type" -DCMAKE_BUILD_TYPE=$type -DCMAKE_PREFIX_PATH="$prefix"
  build "$work/use-$type"
  "$work/use-$type/consumer"
done

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH="$libdir/pkgconfig"
  static=()
  [[ $mode == static ]] && static=(--static)
  # pkg-config escapes the spaces of the prefix for the shell.
  eval "\"$CXX\" -std=c++20 \"$here/project/main.cpp\" -o \"$work/use-pc\" $(pkg-config "${static[@]}" --cflags --libs nibblas-gguf)"
  LD_LIBRARY_PATH="$libdir" "$work/use-pc"
fi
