#!/bin/bash
# SPDX-License-Identifier: MIT
# Root may run pmctl dump and ctl on a hostile process: no file is created, no other process is read or
# written, and memory and time stay small.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all "takes root"
cd "$T" || exit 1

# ---- the process changes at each system call of pmctl ----------------------------------------
cp "$PROG/snatch" hold && chmod 4755 hold
attack() { # CASE EXIT-STATUS
	run timeout -s KILL 120 "$PROG/snatch" "$T" "$PMCTL" "$1"
	if [ "$status" = 3 ] && grep -qE 'chosen process ID|setuid program' "$T/err"; then
		skip "$(cat "$T/err")" "$1"
		return
	fi
	is "$status" 0 "$1: no attack succeeds at any system call" || diag_file "$T/out" won
	like "$(tail -n 1 "$T/out")" "^[1-9][0-9]+ rounds, 0 won, exit status $2 without" \
		"$1: pmctl exits with status $2 if it is not attacked" || diag_file errors messages
}
attack dump-die 0
attack dump-reuse 0
attack dump-exec 0
# The process ends at the signal.
attack signal-reuse 1
attack stop-reuse 0
attack reset-reuse 0

done_testing
