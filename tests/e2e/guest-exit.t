#!/bin/bash
# SPDX-License-Identifier: MIT
# guest-exit.t - the end of a process: no row is lost, no status changes, nothing waits for long.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

# ended HOW N: N children of leavers HOW; their outcome, and how_ended in the dump.
ended() {
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/leavers" "$1" "$2"
	is "$status $(cat out err)" "0 $1: $2 ended, 0 not as expected, 0 busy" \
		"$1: the children end as without the agent"
	"$PMCTL" report --format json x.pmc >r.json 2>r.err
	is "$? $(cat r.err)" "0 " "$1: the dump is whole"
}
how_ended() {
	jq -r '[.processes[].how_ended] | unique | join(" ")' r.json
}

# ---- two threads leave, a signal arrives while one does --------------------------------------------
for how in both exits handler; do
	ended $how 60
	is "$(how_ended)" "exit:0" "$how: every process has its last rows"
done
ended term 100
is "$(jq '[.processes[] | select(.how_ended | test("exit:0|signal:15") | not)] | length' r.json)" 0 \
	"term: every process has its last rows" || diag "$(jq -r '.processes[].how_ended' r.json | sort | uniq -c)"

# ---- a filter that cannot be tried -----------------------------------------------------------------
chmod 777 "$T"
cp "$AGENT" agent.so
AGENT=$T/agent.so ended nproc 1
like "$(jq -r '.processes[].notes[]' r.json)" "seccomp filter" "nproc: a note says why nothing follows"

# ---- dlopen and dlclose ----------------------------------------------------------------------------
AGENT=$T/agent.so PMC_REPORT=off run "$PROG/leavers" unload 1
is "$status $(cat out err)" "0 unload: 1 ended, 0 not as expected, 0 busy" \
	"dlopen and dlclose of the agent, then exit"

done_testing
