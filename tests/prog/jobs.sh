#!/bin/bash
# SPDX-License-Identifier: MIT
# Job control in a script: stopped, continued, killed and waited for.
set -m
cat /dev/null | (exit 3) &
wait $!
echo "pipeline $?"
mkfifo "$TMPDIR/hold.$$" 2>/dev/null || exit 1
trap 'rm -f "$TMPDIR/hold.$$"' EXIT
cat "$TMPDIR/hold.$$" &
job=$!
state() {
	until [ "$(sed 's/.*) //; s/ .*//' "/proc/$job/stat")" "$1" T ]; do :; done
}
kill -STOP $job
state =
echo stopped
kill -CONT $job
state !=
kill -TERM $job
wait $job
echo "killed $?"
trap 'echo trapped' USR1
kill -USR1 $$
(trap 'exit 9' TERM; kill -TERM $BASHPID; :)
echo "subshell $?"
x=$(echo one | tr a-z A-Z)
echo "$x ${PIPESTATUS[0]}"
