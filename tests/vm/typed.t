#!/bin/bash
# SPDX-License-Identifier: MIT
# typed.t - typed groups are exact, scaled or an error, never a wrong number; and the harness's
# figures are those of a counter outside.
. "$(dirname "$0")/lib.sh"
machine

none=18446744073709551615
# line NAME N: fields of that line, one space between them.
line() {
	sed -n "$2p" "$M/$1.out"
}

# ---- exact ---------------------------------------------------------------------------------
around=$(($(line exact 1 | cut -d' ' -f2) - 2))
diag "beside the loop a pass has $around instructions"
between "$around" 10 200 "around a loop there are a few instructions"
while read -r n instructions cycles state whole; do
	is "$instructions $cycles" "$((n + around)) $((n + around))" \
		"$n instructions, a cycle each: exactly, after each reset"
	is "$state $whole" "0 1" "$n instructions: counted, all of the time"
done <"$M/exact.out"
is "$(wc -l <"$M/exact.out")" 5 "five passes"

# ---- what fits, and what does not ----------------------------------------------------------
# crowd NAME N: a reading of N equal values, as exact as that of one.
crowd() {
	local values
	is "$(line "$1" 1)" "open 0 failed -1" "$1: $2 counters open"
	is "$(line "$1" 2 | cut -d' ' -f1-3)" "0 0 1.000" "$1: and count all of the time"
	values=$(line "$1" 2 | cut -d' ' -f4- | tr ' ' '\n' | sort -u)
	between "$values" 1000002 1000200 "$1: one number, the loop's"
	is "$(line "$1" 2 | wc -w)" $((3 + $2)) "$1: $2 times"
}
crowd crowd-4 4
crowd crowd-6 6
# Seven are accepted and never scheduled: see "What fits" in the kernel's arm_pmu.c.
is "$(line crowd-7 2)" "-11 3 0.000$(printf " $none%.0s" 1 2 3 4 5 6 7)" \
	"a group that never ran is EAGAIN and not counted; no value is a 0"
is "$(line crowd-8 1)" "open -22 failed 7" "a group that is too large is EINVAL, with the event"
is "$(line crowd-16 1)" "open -22 failed 7" "and so is a larger one"
is "$(line held 2)" "-11 3 0.000$(printf " $none%.0s" 1 2 3 4)" \
	"a group that another's counters leave no room for is EAGAIN"
is "$(line pinned 1 | cut -d' ' -f1-3)" "0 0 1.000" "a pinned group counts"
is "$(line pinned 2)" "-61 3 0.000$(printf " $none%.0s" 1 2 3 4)" \
	"a pinned group that cannot stay is ENODATA"

# ---- scaled --------------------------------------------------------------------------------
for g in 1 2; do
	is "$(line scaled $g | cut -d' ' -f1,2)" "0 1" "group $g of two that share: scaled"
	between "$(line scaled $g | cut -d' ' -f3)" 0.4 0.6 "group $g: about half of the time"
	for i in 4 5 6 7; do
		within "$(line scaled $g | cut -d' ' -f$i)" 400000000 0.5 "group $g: value $((i - 3))"
	done
done

# ---- the harness ---------------------------------------------------------------------------
# figure EVENT FILTER
figure() {
	jq -r ".benchmarks[0].events[] | select(.name == \"$1\") | $2" "$M/bench.json"
}
# What a counter outside, as perf stat's, has for one operation more.
outside=$(awk -v a="$(cat "$M/plain-1000")" -v b="$(cat "$M/plain-101000")" \
	'BEGIN { printf "%.3f", (b - a) / 100000 }')
ops=$(jq .benchmarks[0].ops_per_sample "$M/bench.json")
diag "an operation has $outside instructions outside, $(figure instructions:u .per_op.mean) in the harness"
between "$ops" 900 1300 "a batch is grown to 1 ms: a thousand loops of a thousand"
is "$(figure instructions:u '.per_op.min == .per_op.max')" true \
	"every sample has the same instructions"
# A call of a batch is a handful of instructions more than the empty one that is taken off.
is "$(figure instructions:u "((.per_op.mean - $outside) * $ops | fabs) < 20")" true \
	"instructions are those of the counter outside, to less than 20 in a million"
is "$(figure instructions:u '.per_op.mean | round')" "$(printf %.0f "$outside")" \
	"instructions per operation, exactly"
is "$(jq .benchmarks[0].ipc "$M/bench.json")" 1 "IPC is 1"
is "$(figure instructions:u .state) $(figure instructions:u .scope)" "counted user" "counted, in user mode"
is "$(figure cache-misses '"\(.state) \(.per_op) \(.reason | length > 0)"')" \
	"not-supported null true" "what this PMU has not is null, with a reason"
within "$(figure task-clock .per_op.median)" "$(jq .benchmarks[0].time_ns.median "$M/bench.json")" 1 \
	"CPU time is the time of work that never waits"
like "$(head -n 1 "$M/bench.md")" 'instructions:u/op \|  IPC \|$' "the table has columns for both"
unlike "$(head -n 1 "$M/bench.md")" 'misses' "and none for what was not counted"
like "$(cat "$M/bench.md")" 'Not counted: cache-misses, branch-misses: .' "a line says why"

# Twelve events on seven counters take turns. Short samples lie within a turn.
# of_all NAME FILTER: over the twelve.
of_all() {
	jq -r ".benchmarks[0].events | map($2) | unique | join(\",\")" "$M/$1.json"
}
is "$(of_all shared .state)" counted "short samples: those in which an event ran throughout are exact"
is "$(of_all shared '.per_op.min == .per_op.max')" true "short samples: no estimate among them"
is "$(of_all shared '.per_op.mean | round')" "$(printf %.0f "$outside")" "short samples: the same number"
is "$(of_all shared ".samples >= 10 and .samples < $(jq .benchmarks[0].samples "$M/shared.json")")" \
	true "short samples: not all of them"
is "$(jq .benchmarks[0].ipc "$M/shared.json")" 1 "short samples: IPC"
# Long ones do not: each is an estimate, and says so.
is "$(of_all slow .state)" scaled "long samples are scaled"
for end in min max; do
	within "$(jq "[.benchmarks[0].events[].per_op.mean] | $end" "$M/slow.json")" "$outside" 2 \
		"long samples: the $end of the twelve"
done
like "$(cat "$M/slow.md")" '~ *[0-9]+\.' "the table marks them"
like "$(cat "$M/slow.md")" 'Marked ~ .*: instructions:u, cycles:u, r8:u' "and says what the mark means"

# The documentation's example, where there is a PMU.
like "$(head -n 1 "$M/example.md")" 'cycles/op \| instructions/op \|  IPC \| speed-up \|$' \
	"the example has cycles, instructions and IPC"
is "$(grep -c '| 1.00 |' "$M/example.md")" 3 "and IPC is 1 for each of its three"

done_testing
