#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks into object files and fails on what must not be there.
#   check_object.sh [--symbols REGEX] [--forbid REGEX] [--undefined REGEX] [--initialisers no] OBJECT...
# --symbols       the only external symbols that may be defined, weak ones included
# --forbid        must not occur in the disassembly
# --undefined     must not be referenced
# --initialisers  "no": no dynamic initialisers
# NM and OBJDUMP name the tools.
set -euo pipefail
: "${NM:=nm}" "${OBJDUMP:=objdump}"

symbols='' forbid='' undefined='' initialisers=yes
while [[ ${1-} == --* ]]; do
  case $1 in
    --symbols) symbols=$2 ;;
    --forbid) forbid=$2 ;;
    --undefined) undefined=$2 ;;
    --initialisers) initialisers=$2 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
[[ $# -gt 0 ]] || { echo "no object to check" >&2; exit 2; }

failed=0
complain() {  # <object> <what> <lines>
  echo "guard: ${1##*/}: $2"
  head -n 10 <<<"$3" | sed 's/^/    /'
  failed=1
}

for object in "$@"; do
  [[ -r $object ]] || { echo "cannot read $object" >&2; exit 2; }
  if [[ -n $symbols ]]; then
    defined=$("$NM" --extern-only --defined-only --format=posix "$object" | awk '{print $1, $2}')
    found=$(grep -vE "^($symbols) " <<<"$defined" || true)
    [[ -z $found ]] || complain "$object" "symbol that should not be exported" "$found"
    grep -qE "^($symbols) " <<<"$defined" || complain "$object" "the expected symbol is missing" "$symbols"
  fi
  if [[ -n $undefined ]]; then
    found=$("$NM" --undefined-only --format=posix "$object" | awk '{print $1}' | grep -xE "$undefined" || true)
    [[ -z $found ]] || complain "$object" "reference that the library must not have" "$found"
  fi
  if [[ $initialisers == no ]]; then
    found=$("$OBJDUMP" --section-headers "$object" | grep -E '\.(init_array|preinit_array|ctors)' || true)
    [[ -z $found ]] || complain "$object" "dynamic initialiser" "$found"
  fi
  if [[ -n $forbid ]]; then
    code=$("$OBJDUMP" --disassemble --no-show-raw-insn "$object")
    found=$(grep -E "$forbid" <<<"$code" || true)
    [[ -z $found ]] || complain "$object" "forbidden instruction" "$found"
  fi
done
[[ $failed == 0 ]] && echo "checked $# object(s)"
exit $failed
