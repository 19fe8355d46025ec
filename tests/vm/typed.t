#!/bin/bash
# SPDX-License-Identifier: MIT
# typed.t - typed groups give exact values, scaled values or an error, never a wrong number; the
# harness's metrics equal those of a counter outside the process.
. "$(dirname "$0")/lib.sh"
machine

none=18446744073709551615
# line NAME N: fields of line N of NAME.out, separated by single spaces.
line() {
	sed -n "$2p" "$M/$1.out"
}

# ---- exact ---------------------------------------------------------------------------------
around=$(($(line exact 1 | cut -d' ' -f2) - 2))
diag "beside the loop a pass has $around instructions"
between "$around" 10 200 "a reading adds 10 to 200 instructions to those of the loop"
while read -r n instructions cycles state whole; do
	is "$instructions $cycles" "$((n + around)) $((n + around))" \
		"loop of $n: instructions and cycles are exact after each reset"
	is "$state $whole" "0 1" "loop of $n: the state is counted and the running share is 1"
done <"$M/exact.out"
is "$(wc -l <"$M/exact.out")" 5 "the program printed five readings"

# ---- groups that fit and groups that do not ------------------------------------------------
# crowd NAME N: a group of N identical events reads N equal, exact values.
crowd() {
	local values
	is "$(line "$1" 1)" "open 0 failed -1" "$1: a group of $2 events opens"
	is "$(line "$1" 2 | cut -d' ' -f1-3)" "0 0 1.000" "$1: the group is counted, not multiplexed"
	values=$(line "$1" 2 | cut -d' ' -f4- | tr ' ' '\n' | sort -u)
	between "$values" 1000002 1000200 "$1: all values are equal and match the loop"
	is "$(line "$1" 2 | wc -w)" $((3 + $2)) "$1: the reading has $2 values"
}
crowd crowd-4 4
crowd crowd-6 6
# Seven are accepted and never scheduled: see "What fits" in the kernel's arm_pmu.c.
is "$(line crowd-7 2)" "-16 3 0.000$(printf " $none%.0s" 1 2 3 4 5 6 7)" \
	"group that never ran: EBUSY, state not counted, no value is 0"
is "$(line crowd-8 1)" "open -22 failed 7" "group of 8 on 6 counters: EINVAL, with the index of the failed event"
is "$(line crowd-16 1)" "open -22 failed 7" "group of 16 on 6 counters: EINVAL, with the index of the failed event"
is "$(line held 2)" "-16 3 0.000$(printf " $none%.0s" 1 2 3 4)" \
	"group without free counters because others hold them: EBUSY"
is "$(line pinned 1 | cut -d' ' -f1-3)" "0 0 1.000" "a pinned group is counted all of the time"
is "$(line pinned 2)" "-61 3 0.000$(printf " $none%.0s" 1 2 3 4)" \
	"a pinned group that loses its counters: ENODATA"

# ---- scaled --------------------------------------------------------------------------------
for g in 1 2; do
	is "$(line scaled $g | cut -d' ' -f1,2)" "0 1" "group $g of two multiplexed groups: scaled"
	between "$(line scaled $g | cut -d' ' -f3)" 0.4 0.6 "group $g: its running share is about one half"
	for i in 4 5 6 7; do
		within "$(line scaled $g | cut -d' ' -f$i)" 400000000 0.5 \
			"group $g: scaled value $((i - 3)) is within 0.5 % of the loop"
	done
done

# ---- the harness ---------------------------------------------------------------------------
# figure EVENT FILTER: FILTER applied to EVENT of the first benchmark.
figure() {
	jq -r ".benchmarks[0].events[] | select(.name == \"$1\") | $2" "$M/bench.json"
}
# Instructions of one more operation by a counter outside the process, as perf stat uses.
outside=$(awk -v a="$(cat "$M/plain-1000")" -v b="$(cat "$M/plain-101000")" \
	'BEGIN { printf "%.3f", (b - a) / 100000 }')
ops=$(jq .benchmarks[0].ops_per_sample "$M/bench.json")
diag "an operation has $outside instructions outside, $(figure instructions:u .per_op.mean) in the harness"
between "$ops" 900 1300 "the batch size grows to 1 ms: about 1,000 operations of 1,000 instructions"
is "$(figure instructions:u '.per_op.min == .per_op.max')" true \
	"instructions per operation are the same in every sample"
# Calling a batch takes a few instructions more than the empty call that is subtracted.
is "$(figure instructions:u "((.per_op.mean - $outside) * $ops | fabs) < 20")" true \
	"instructions of a batch differ from the outside counter by less than 20"
is "$(figure instructions:u '.per_op.mean | round')" "$(printf %.0f "$outside")" \
	"instructions per operation, rounded, equal those of the outside counter"
is "$(jq .benchmarks[0].ipc "$M/bench.json")" 1 "IPC of the benchmark is 1"
is "$(figure instructions:u .state) $(figure instructions:u .scope)" "counted user" \
	"instructions:u has the state counted and the scope user"
is "$(figure cache-misses '"\(.state) \(.per_op) \(.reason | length > 0)"')" \
	"not-supported null true" "an event that the PMU lacks is not supported: its value is null, with a reason"
within "$(figure task-clock .per_op.median)" "$(jq .benchmarks[0].time_ns.median "$M/bench.json")" 1 \
	"task-clock equals the elapsed time of an operation that never blocks"
like "$(head -n 1 "$M/bench.md")" 'instructions:u/op \|  IPC \|$' \
	"the table has columns for instructions per operation and IPC"
unlike "$(head -n 1 "$M/bench.md")" 'misses' "the table has no column for events that were not counted"
like "$(cat "$M/bench.md")" 'Not counted: cache-misses, branch-misses: .' \
	"a line below the table names the events not counted and the reason"

# Twelve events on seven counters are multiplexed. A short sample fits within one rotation interval.
# of_all NAME FILTER: unique results of FILTER over the twelve events.
of_all() {
	jq -r ".benchmarks[0].events | map($2) | unique | join(\",\")" "$M/$1.json"
}
is "$(of_all shared .state)" counted "short samples: every event is counted, from samples in which it ran throughout"
is "$(of_all shared '.per_op.min == .per_op.max')" true \
	"short samples: the minimum equals the maximum, so none is scaled"
is "$(of_all shared '.per_op.mean | round')" "$(printf %.0f "$outside")" \
	"short samples: the mean equals that of the outside counter"
is "$(of_all shared ".samples >= 10 and .samples < $(jq .benchmarks[0].samples "$M/shared.json")")" \
	true "short samples: each event uses at least 10 samples but not all"
is "$(jq .benchmarks[0].ipc "$M/shared.json")" 1 "short samples: IPC is 1"
# A long sample spans several rotation intervals: its values are scaled and marked so.
is "$(of_all slow .state)" scaled "long samples: every event is scaled"
for end in min max; do
	within "$(jq "[.benchmarks[0].events[].per_op.mean] | $end" "$M/slow.json")" "$outside" 2 \
		"long samples: the $end of the twelve means is within 2 % of the outside counter"
done
like "$(cat "$M/slow.md")" '~ *[0-9]+\.' "long samples: the table marks scaled values with ~"
like "$(cat "$M/slow.md")" 'Marked ~ .*: instructions:u, cycles:u, r8:u' \
	"long samples: a line below the table explains the mark ~"

# The example of the documentation, on a machine with a PMU.
like "$(head -n 1 "$M/example.md")" 'cycles/op \| +instructions/op \| +IPC \| +speed-up \|$' \
	"documentation example: columns for cycles, instructions and IPC"
is "$(grep -c '| 1.00 |' "$M/example.md")" 3 "documentation example: IPC is 1.00 for each of its three benchmarks"

done_testing
