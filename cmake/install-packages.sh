#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install-packages.sh PACKAGE...: installs those that are missing, on Debian 12 or Ubuntu, as root or through sudo.
set -euo pipefail
missing=()
for package in "$@"; do
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

echo "installing ${missing[*]}"
root=()
if [[ $(id -u) != 0 ]]; then
  command -v sudo >/dev/null || { echo "run this as root, or install: ${missing[*]}" >&2; exit 1; }
  root=(sudo)
fi
apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
"${root[@]}" "${apt[@]}" update </dev/null
"${root[@]}" "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null
