#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.t - pmctl bench on a machine with a PMU: exact counts, and events in passes.
. "$(dirname "$0")/lib.sh"
machine

two() { jq -r "$1" "$M/two.json"; }
for c in 0 1; do
	is "$(two ".commands[$c].runs | [.[].events[\"instructions:u\"]] | unique | length")" 1 \
		"command $((c + 1)): instructions are equal in every run"
done
is "$(two '.commands[1].runs[0].events["instructions:u"] - .commands[0].runs[0].events["instructions:u"]')" 2000 \
	"the difference of two commands is exact"
is "$(two '.commands[1].summary["instructions:u"] | .ci_pct == 0 and .delta_pct > 0')" true \
	"and has no spread"

is "$(jq '[.commands[0].runs[].events | to_entries[] | select(.key != "page-faults") | .value | select(. != null)] | unique | length' \
	"$M/passes.json")" 1 "events in passes are not multiplexed: all are exact"
between "$(jq '.commands[0].summary["instructions:u"].n' "$M/passes.json")" 1 5 "each has some of the runs"
is "$(jq '.commands[0].summary["page-faults"].n' "$M/passes.json")" 6 "a software event is in every run"
like "$(cat "$M/passes.txt")" "instructions:u \(3 runs\)" "the table says how many runs a row has"

# Whether a thread finds a lock free at its end, or another that it joins ended, takes some instructions.
is "$(jq '[.commands[0].threads[]."instructions:u" | .mean > 1000 and .stddev < .mean / 100] | [length >= 2, all] | all' "$M/threads.json")" true \
	"--per-thread: each thread's instructions are nearly equal in every run" ||
	diag "$(jq -c '.commands[0].threads' "$M/threads.json")"

done_testing
