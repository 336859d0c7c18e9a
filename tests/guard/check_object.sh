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
for tool in "$NM" "$OBJDUMP"; do
  command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 2; }
done
[[ $# -gt 0 ]] || { echo "no object to check" >&2; exit 2; }

failed=0
complain() {  # <what> <lines "object: ...">
  echo "guard: $1"
  head -n 10 <<<"$2" | sed 's|^.*/||; s/^/    /'
  failed=1
}
lines() { "$@" | awk '/:[[:space:]]+file format / { sub(/:[[:space:]]+file format .*/, ""); object = $0; next } { print object ": " $0 }'; }

for object in "$@"; do
  [[ -r $object ]] || { echo "cannot read $object" >&2; exit 2; }
  if [[ -n $symbols ]]; then
    defined=$("$NM" --extern-only --defined-only --format=posix "$object" | awk '{print $1, $2}')
    found=$(grep -vE "^($symbols) " <<<"$defined" || true)
    [[ -z $found ]] || complain "symbol that should not be exported" "$(sed "s|^|$object: |" <<<"$found")"
    grep -qE "^($symbols) " <<<"$defined" || complain "the expected symbol is missing" "$object: $symbols"
  fi
done
if [[ -n $undefined ]]; then
  found=$("$NM" --print-file-name --undefined-only --format=posix "$@" | grep -E ": ($undefined) " || true)
  [[ -z $found ]] || complain "reference that the library must not have" "$found"
fi
if [[ $initialisers == no ]]; then
  found=$(lines "$OBJDUMP" --section-headers "$@" | grep -E '\.(init_array|preinit_array|ctors)' || true)
  [[ -z $found ]] || complain "dynamic initialiser" "$found"
fi
if [[ -n $forbid ]]; then
  found=$(lines "$OBJDUMP" --disassemble --no-show-raw-insn "$@" | grep -E "$forbid" || true)
  [[ -z $found ]] || complain "forbidden instruction" "$found"
fi
[[ $failed == 0 ]] && echo "checked $# object(s)"
exit $failed
