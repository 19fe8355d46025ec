#!/bin/bash
# SPDX-License-Identifier: MIT
# library.t - the IPC monitor of the documentation on machines with known instructions and cycles: one
# cycle per instruction, then two.
. "$(dirname "$0")/lib.sh"

line='^instructions=[0-9]+ cycles=[0-9]+ ipc=[0-9]+\.[0-9]{3}$'

# looks IPC: check the output on a machine where every program has this IPC.
looks() {
	is "$(grep -cE "$line" "$M/process.out")" 5 "IPC $1: the monitor of a process prints five lines"
	is "$(grep -vE "$line" "$M/process.out")" "" "IPC $1: the monitor of a process prints nothing else"
	is "$(sed 's/.*ipc=//' "$M/process.out" | sort -u)" "$1" "IPC $1: every line of the process has this IPC"
	is "$(sed 's/.*instructions=\([0-9]*\).*/\1/' "$M/process.out" | awk '$1 < 1000000')" "" \
		"IPC $1: every line of the process has at least a million instructions"
	is "$(grep -cE "$line" "$M/machine.out")" 3 "IPC $1: the monitor of the whole machine prints three lines"
	is "$(sed 's/.*ipc=//' "$M/machine.out" | awk -v ipc="$1" '$1 <= 0 || $1 > ipc')" "" \
		"IPC $1: the whole machine has at most this IPC because of idle cycles"
	like "$(cat "$M/other.out")" "ipc=$1\$" "IPC $1: an unprivileged user gets the same IPC"
	like "$(cat "$M/other.err")" 'user mode only: .{20}' "IPC $1: an unprivileged user gets a note about user mode only"
	ok "IPC $1: the monitor prints a line when its process ends" grep -qE "$line" "$M/ends.out"
}

machine
looks 1.000
[[ $(cat "$M/switches.err") =~ ([0-9]+)\ switches,\ ([0-9]+)\ lost,\ ([0-9]+)\ late ]]
is "${BASH_REMATCH[2]:-} ${BASH_REMATCH[3]:-}" "0 0" "sched_switch: no record is lost or late" ||
	diag_file "$M/switches.err" stderr
between "${BASH_REMATCH[1]:-0}" 200 100000000 "sched_switch recorded at least 200 switches"
is "$(python3 "$ROOT/tests/e2e/switches.py" "$M/switches.out" 0 0)" "${BASH_REMATCH[1]:-}" \
	"NextPID(k) = PrevPID(k+1) throughout, TID = PrevPID, TIME never goes back; printed = produced"
is "$(cat "$M/trace.rc") $(sed 's/[0-9]* records/N records/' "$M/trace.err")" "0 pmctl trace: N records, 0 lost" \
	"pmctl trace: no record is lost or late"
is "$(python3 "$ROOT/tests/e2e/switches.py" "$M/trace.out" 0 0)" \
	"$(sed -n 's/.*: \([0-9]*\) records.*/\1/p' "$M/trace.err")" "pmctl trace: the records fit together, too"
ICOUNT=shift=1,sleep=off machine
looks 0.500

done_testing
