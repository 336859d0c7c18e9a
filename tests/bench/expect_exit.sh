#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# expect_exit.sh CODE COMMAND ARGUMENT...: fails unless the command exits with CODE.
want=$1
shift
"$@"
got=$?
[ "$got" -eq "$want" ] || { echo "exit code $got, expected $want" >&2; exit 1; }
