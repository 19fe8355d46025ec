#!/bin/bash
# SPDX-License-Identifier: MIT
# processes.t - exact counts with raw clones, forks, execs, static children, SIGKILL and dumps of live threads.
. "$(dirname "$0")/lib.sh"
machine
few=1000000 many=3000000

# differ NAME FILTER WHAT [SLACK]: the values FILTER selects in NAME's two reports (loops of $many and
# $few) differ by $many - $few, ± SLACK; each of the three events is counted in both.
differ() {
	local a b
	a=$(jq -c "$2" "$M/$1-$few.json")
	b=$(jq -c "$2" "$M/$1-$many.json")
	is "$(jq -nr --argjson a "$a" --argjson b "$b" \
		'[$a, $b | map(.state)] | flatten | unique | join(" ")')" counted "$1: $3: every event is counted" ||
		diag "$a"
	is "$(jq -nr --argjson a "$a" --argjson b "$b" "[range(0; \$a | length)] |
		map(\$b[.].value - \$a[.].value | (. - $((many - few)) | fabs) <= ${4:-0}) | unique | tostring")" \
		"[true]" "$1: $3: the difference of two runs is the difference of their loops" ||
		diag "$(jq -nc --argjson a "$a" --argjson b "$b" '[$a, $b | map(.value)]')"
}
# sleep: a thread at a barrier or futex may have to sleep or not. start: the instructions of loader, libc
# and agent at the start of a process vary with its pid and environment.
sleep=64
start=2000

for mode in full clock; do
	differ fork-$mode '[.threads[] | select(.state == "exited")] | sort_by(.pid, .seq) | .[-1].events' \
		"a thread of a forked child"
	differ fork-$mode '.processes[0].pid as $p | [.threads[] | select(.pid != $p)] | sort_by(.seq) |
		.[0].events' "a forked child" $start
	differ exec-$mode '[.threads[] | select(.state == "exec")] | .[0].events' "a process before its exec" $start
	differ exec-$mode '[.threads[] | select(.state != "exec")] | sort_by(.seq) | .[1].events' \
		"a thread after exec"
	differ deep-$mode '[.threads[] | select(.seq == 1)] | .[0].events' "a thread in the fourth nested process"
	is "$(jq -r '[.threads[].events[].state] | unique | join(" ")' "$M/deep-$mode-$many.json")" counted \
		"deep-$mode: no event is multiplexed in four nested processes"
	is "$(jq '[.processes[].pid] | unique | length' "$M/deep-$mode-$many.json")" 4 \
		"deep-$mode: the report has four processes" ||
		diag "$(jq -c '.processes[].exe' "$M/deep-$mode-$many.json")"
done
# Only the loader's instructions before the agent starts are in no row.
between "$(jq '[.processes[0].unattributed[].value] | max' "$M/fork-full-$many.json")" 0 20000 \
	"fork-full: unattributed has at most 20,000 instructions, none of the forked child"
differ raw-full '.processes[0].unattributed' "unattributed count of a raw clone" $start
# Exact: a counter outside the agent on the same child gives the same value.
for n in $few $many; do
	for case in static-full off; do
		is "$(jq -r '.processes[0].descendants | map(.value, .state) | unique | tostring' \
			"$M/$case-$n.json")" "[$(cat "$M/$case-$n"),\"counted\"]" \
			"$case: descendants holds the exact count of a static child with a loop of $n"
	done
done
# The loader starts three programs between the root and this one, each with another environment.
differ deep-static-full '.processes[0].descendants' "descendants count of a static great-grandchild" \
	$((3 * start))
differ run '.processes[0].unattributed' "total of a static program under pmctl run" $start
differ off-six '.processes[0].descendants' "descendants count with PMC_FOLLOW=off and six events" $start
is "$(jq -r '[.threads[].events[].state] | unique | join(" ")' "$M/off-six-$many.json")" counted \
	"PMC_FOLLOW=off: six events of the process's own threads are counted"
for mode in raw static deep-static; do
	is "$(jq -c '[.processes[0] | .unattributed, .descendants | .[] | .name] | unique' \
		"$M/$mode-clock-$many.json")" '["task-clock"]' \
		"$mode-clock: work outside thread rows is reported as task-clock only"
done

# Dumps of processes that wrote no report.
for n in $few $many; do
	for case in kill signal dumped interval; do
		"$PMCTL" report --format json "$M/$case-$n.pmc" >"$M/$case-$n.json" 2>"$T/err" ||
			diag_file "$T/err" "$case-$n"
	done
	for case in signal dumped; do
		"$PMCTL" report --timeline --format json "$M/$case-$n.pmc" >"$T/$case-$n"
		is "$(jq -s '[.[] | select(.seq > 0) | .seq] | group_by(.) | map(length > 1) | all' \
			"$T/$case-$n")" true "$case: each thread has a snapshot before its final one"
	done
done
for seq in 1 2 3; do
	differ kill "[.threads[] | select(.seq == $seq)] | .[0].events" "thread $seq, which ended before SIGKILL"
	differ signal "[.threads[] | select(.seq == $seq)] | .[0].events" "thread $seq after the dump signal" $sleep
	for case in signal dumped; do
		for n in $few $many; do
			jq -s "{ threads: [.[] | select(.seq == $seq)][0:1] }" "$T/$case-$n" \
				>"$M/mid-$case-$n.json"
		done
	done
	differ mid-signal ".threads[0].events" "live thread $seq at the dump signal" $sleep
	differ mid-dumped ".threads[0].events" "live thread $seq at pmctl dump" $sleep
done
# A snapshot takes some 6,000 instructions of the thread that takes it.
for seq in 1 3; do
	differ interval "[.threads[] | select(.seq == $seq)] | .[0].events" "thread $seq with periodic snapshots" 12000
done
within "$(value interval-$few 2 instructions:u)" 50000000 1 "interval: snapshots add less than 1 % to a busy thread"

done_testing
