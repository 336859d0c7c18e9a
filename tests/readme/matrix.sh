#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's table of what is supported on an architecture, as a build prints it.
#   matrix.sh check|update README ARCHITECTURE COMMAND...
# check exits with 77 when the build lacks a provider that the README has: its table says nothing then.
set -euo pipefail
mode=$1 readme=$2 architecture=$3
begin="<!-- matrix $architecture -->"
end="<!-- /matrix $architecture -->"
if [[ $(grep -cxF -e "$begin" -e "$end" "$readme") != 2 ]]; then
  echo "$readme has no lines '$begin' and '$end'" >&2
  exit 1
fi

built=$("${@:4}")
written=$(awk -v begin="$begin" -v end="$end" '$0 == end { exit } on { print } $0 == begin { on = 1 }' "$readme")
if [[ $mode == check ]]; then
  missing=$(comm -13 <(head -n 1 <<<"$built" | tr -d ' ' | tr '|' '\n' | sort) \
    <(head -n 1 <<<"$written" | tr -d ' ' | tr '|' '\n' | sort))
  [[ -z $missing ]] || { echo "not in this build:" $missing; exit 77; }
  diff <(echo "$written") <(echo "$built") || { echo "README.md differs; update: $0 ${*/#check/update}"; exit 1; }
else
  changed=$(awk -v begin="$begin" -v end="$end" -v table="$built" \
    '$0 == end { on = 0 } !on { print } $0 == begin { on = 1; print table }' "$readme")
  echo "$changed" >"$readme"
fi
