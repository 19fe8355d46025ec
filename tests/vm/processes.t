#!/bin/bash
# SPDX-License-Identifier: MIT
# processes.t - raw clones, forks, execs, static children, kills and dumps mid-run, to the instruction.
. "$(dirname "$0")/lib.sh"
machine
few=1000000 many=3000000

# differ NAME FILTER WHAT [SLACK]: FILTER of NAME's report with many less that with few is the
# difference of the loops, give or take SLACK; both are counted, in each of the three events.
differ() {
	local a b
	a=$(jq -c "$2" "$M/$1-$few.json")
	b=$(jq -c "$2" "$M/$1-$many.json")
	is "$(jq -nr --argjson a "$a" --argjson b "$b" \
		'[$a, $b | map(.state)] | flatten | unique | join(" ")')" counted "$1: $3: counted" ||
		diag "$a"
	is "$(jq -nr --argjson a "$a" --argjson b "$b" "[range(0; \$a | length)] |
		map(\$b[.].value - \$a[.].value | (. - $((many - few)) | fabs) <= ${4:-0}) | unique | tostring")" \
		"[true]" "$1: $3: to the instruction" ||
		diag "$(jq -nc --argjson a "$a" --argjson b "$b" '[$a, $b | map(.value)]')"
}
# Who waits at a barrier or a futex may find it passed already, or sleep; and what loader, libc and
# agent do for a process depends a little on its pid and its environment.
sleep=64
start=2000

for mode in full clock; do
	differ fork-$mode '[.threads[] | select(.state == "exited")] | sort_by(.pid, .seq) | .[-1].events' \
		"a thread of a forked child"
	differ fork-$mode '.processes[0].pid as $p | [.threads[] | select(.pid != $p)] | sort_by(.seq) |
		.[0].events' "a forked child" $start
	differ exec-$mode '[.threads[] | select(.state == "exec")] | .[0].events' "before its exec" $start
	differ exec-$mode '[.threads[] | select(.state != "exec")] | sort_by(.seq) | .[1].events' \
		"a thread after the exec"
	differ deep-$mode '[.threads[] | select(.seq == 1)] | .[0].events' "a thread four deep"
	is "$(jq -r '[.threads[].events[].state] | unique | join(" ")' "$M/deep-$mode-$many.json")" counted \
		"deep-$mode: four processes deep nobody shares a counter"
	is "$(jq '[.processes[].pid] | unique | length' "$M/deep-$mode-$many.json")" 4 "deep-$mode: four processes" ||
		diag "$(jq -c '.processes[].exe' "$M/deep-$mode-$many.json")"
done
# What the loader did before the agent was there is all that no row has.
between "$(jq '[.processes[0].unattributed[].value] | max' "$M/fork-full-$many.json")" 0 20000 \
	"fork-full: nothing of a forked child is unattributed"
differ raw-full '.processes[0].unattributed' "a raw clone is unattributed" $start
# To the instruction: a counter that is not ours, on the very same child, says the same.
for n in $few $many; do
	for case in static-full off; do
		is "$(jq -r '.processes[0].descendants | map(.value, .state) | unique | tostring' \
			"$M/$case-$n.json")" "[$(cat "$M/$case-$n"),\"counted\"]" \
			"$case: a static child of $n is under descendants, to the instruction"
	done
done
# Between them and the root the loader starts three programs, with environments of their own.
differ deep-static-full '.processes[0].descendants' "a static great-grandchild too" $start
differ run '.processes[0].unattributed' "pmctl run of a static program: in all" $start
differ off-six '.processes[0].descendants' "PMC_FOLLOW=off, six events: descendants" $start
is "$(jq -r '[.threads[].events[].state] | unique | join(" ")' "$M/off-six-$many.json")" counted \
	"PMC_FOLLOW=off: six events of the process's own threads stay counted"
for mode in raw static deep-static; do
	is "$(jq -c '[.processes[0] | .unattributed, .descendants | .[] | .name] | unique' \
		"$M/$mode-clock-$many.json")" '["task-clock"]' "$mode-clock: what is unseen is known in CPU time"
done

# Dumps of processes that made no report.
for n in $few $many; do
	for case in kill signal dumped interval; do
		"$PMCTL" report --format json "$M/$case-$n.pmc" >"$M/$case-$n.json" 2>"$T/err" ||
			diag_file "$T/err" "$case-$n"
	done
	for case in signal dumped; do
		"$PMCTL" report --timeline --format json "$M/$case-$n.pmc" >"$T/$case-$n"
		is "$(jq -s '[.[] | select(.seq > 0) | .seq] | group_by(.) | map(length > 1) | all' \
			"$T/$case-$n")" true "$case: each thread has a snapshot before its last"
	done
done
for seq in 1 2 3; do
	differ kill "[.threads[] | select(.seq == $seq)] | .[0].events" "thread $seq, ended before SIGKILL"
	differ signal "[.threads[] | select(.seq == $seq)] | .[0].events" "thread $seq" $sleep
	for case in signal dumped; do
		for n in $few $many; do
			jq -s "{ threads: [.[] | select(.seq == $seq)][0:1] }" "$T/$case-$n" \
				>"$M/mid-$case-$n.json"
		done
	done
	differ mid-signal ".threads[0].events" "thread $seq at the dump signal, alive" $sleep
	differ mid-dumped ".threads[0].events" "thread $seq at pmctl dump, alive" $sleep
done
for seq in 1 3; do
	differ interval "[.threads[] | select(.seq == $seq)] | .[0].events" "thread $seq between snapshots"
done
is "$(value interval-$few 2 instructions:u)" "$(value interval-$many 2 instructions:u)" \
	"interval: snapshots change nothing in the thread that is read meanwhile"

done_testing
