#!/bin/bash
# SPDX-License-Identifier: MIT
# library.t - the documentation's IPC monitor where instructions and cycles are known: one cycle an
# instruction, then two.
. "$(dirname "$0")/lib.sh"

line='^instructions=[0-9]+ cycles=[0-9]+ ipc=[0-9]+\.[0-9]{3}$'

# looks IPC: the lines of a machine whose programs have this IPC.
looks() {
	is "$(grep -cE "$line" "$M/process.out")" 5 "IPC $1: five lines of a process"
	is "$(grep -vE "$line" "$M/process.out")" "" "IPC $1: and nothing else"
	is "$(sed 's/.*ipc=//' "$M/process.out" | sort -u)" "$1" "IPC $1: in each of them"
	is "$(sed 's/.*instructions=\([0-9]*\).*/\1/' "$M/process.out" | awk '$1 < 1000000')" "" \
		"IPC $1: and instructions by the million"
	is "$(grep -cE "$line" "$M/machine.out")" 3 "IPC $1: three lines of the whole machine"
	is "$(sed 's/.*ipc=//' "$M/machine.out" | awk -v ipc="$1" '$1 <= 0 || $1 > ipc')" "" \
		"IPC $1: where an idle CPU has cycles without instructions"
	like "$(cat "$M/other.out")" "ipc=$1\$" "IPC $1: a user without privilege sees it too"
	like "$(cat "$M/other.err")" 'user mode only: .{20}' "IPC $1: in user mode, and is told so"
	ok "IPC $1: with a process the monitor ends" grep -qE "$line" "$M/ends.out"
}

machine
looks 1.000
[[ $(cat "$M/switches.err") =~ ([0-9]+)\ switches,\ ([0-9]+)\ lost,\ ([0-9]+)\ late ]]
is "${BASH_REMATCH[2]:-} ${BASH_REMATCH[3]:-}" "0 0" "sched_switch: nothing lost, nothing late" ||
	diag_file "$M/switches.err" stderr
between "${BASH_REMATCH[1]:-0}" 200 100000000 "there were switches to see"
is "$(python3 "$ROOT/tests/e2e/switches.py" "$M/switches.out" 0 0)" "${BASH_REMATCH[1]:-}" \
	"NextPID(k) = PrevPID(k+1) throughout, TID = PrevPID, TIME never goes back; printed = produced"
ICOUNT=shift=1,sleep=off machine
looks 0.500

done_testing
