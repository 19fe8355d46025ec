#!/bin/bash
# SPDX-License-Identifier: MIT
# alive.t - threads that are alive when somebody else takes counters get smaller groups.
. "$(dirname "$0")/lib.sh"
machine
n=20000000
all=$((20 * n))

# row NAME SEQ FILTER: of the events of a row of the first process, each with .share of the time it ran.
row() {
	jq -r "[first(.threads[] | select(.seq == $2)).events[] | . + { share: ((.running_ns // 0) / ((.enabled_ns // 0) + 1)) }] | $3" \
		"$M/$1.json"
}
states() {
	row "$1" "$2" 'map(.state) | unique | join(" ")'
}
notes() {
	jq '[.processes[0].notes[] | select(.text | test("smaller groups")) | .count] | add // 0' "$M/$1.json"
}

# alive NAME NUMBER LEAST MOST: both threads counted that number in six estimates within 1 %, each
# of the events so much of the time.
alive() {
	local seq
	for seq in 1 2; do
		is "$(states "$1" $seq)" scaled "$1: thread $seq is scaled"
		is "$(row "$1" $seq "all(.value > $2 * (1 - ${5:-0.01}) and .value < $2 * (1 + ${5:-0.01}))")" true \
			"$1: and right within 1 %" || diag "$(row "$1" $seq 'map(.value) | tostring')"
		is "$(row "$1" $seq "all(.share > $3 and .share < $4)")" true \
			"$1: its events took turns in equal parts" || diag "$(row "$1" $seq 'map(.share) | tostring')"
	done
}

is "$(states take-0 1) $(states take-0 2) $(notes take-0)" "counted counted 0" \
	"as long as all counters are there, nothing changes"
is "$(row take-0 1 "all(.value >= $all and .value < $all + 10000)")" true "and all is counted"
alive take-1 $all 0.4 0.6
is "$(notes take-1)" 1 "halves were enough"
# How equal four turns are is up to where the kernel's tick meets the change of threads: of the two
# counters, halves would have had none.
alive take-4 $all 0.15 0.45
is "$(notes take-4)" 2 "with two counters left it takes quarters"
# The share is that of the first round, from before the counters were taken.
alive take-6 $all 0.01 0.1
alive signal $all 0.4 0.6 0.02
between "$(cat "$M/signal.out")" 1 1024 "a dump that does it takes less than 1 KiB of a signal stack"

alive churn $all 0.4 0.6
is "$(jq '.threads | length' "$M/churn.json")" 103 "churn: every thread has a row"
is "$(jq '[.threads[] | select(.seq > 2) | .events | map(select(.state == "counted")) | length] | unique | tostring' \
	"$M/churn.json")" '"[3]"' "churn: those too short for a second turn have the half that ran"

is "$(states never 2) $(notes never)" "scaled 1" \
	"never: halves that wait for their first turn are not halved again" ||
	diag "$(row never 1 'map(.share) | tostring') $(row never 2 'map(.share) | tostring')"

alive fork $all 0.4 0.6
is "$(jq '.processes | length' "$M/fork.json")" 3 "fork: two children"
is "$(jq "[.threads[] | select(.pid != $(jq '.processes[0].pid' "$M/fork.json")) | .events[] |
	.state == \"scaled\" and .value > $n * 0.9 and .value < $n * 1.1] | all" "$M/fork.json")" true \
	"fork: which begin with smaller groups and count what they did" ||
	diag "$(jq -c '[.threads[].events | map(.value)]' "$M/fork.json")"

# What regions count is told by the thread's groups: those of a thread that marks some stay.
is "$(states region 1) $(states region 2)" "scaled scaled" "region: both threads are scaled"
is "$(row region 1 'all(.share > 0.4 and .share < 0.6)') $(row region 2 'all(.share < 0.1)')" "true true" \
	"region: the one that marks regions keeps its groups, the other does not" ||
	diag "$(row region 1 'map(.share) | tostring') $(row region 2 'map(.share) | tostring')"
is "$(jq -c "[.regions[] | [.region, .seq, .calls, (.events | map(.raw - $n | . >= 0 and . < 100) | all)]]" \
	"$M/region.json")" '[["round",2,20,true]]' "region: in which the one round that was counted is exact"

# From outside.
alive dump $all 0.15 0.45
"$O/pmctl" report --format json "$M/outside.pmc" >"$M/outside.json"
alive outside $((11 * n)) 0.15 0.45
is "$(row reset 1 "all(.value > 9 * $n * 0.99 and .value < 9 * $n * 1.01)")" true \
	"reset: what comes after it is right within 1 %" || diag "$(row reset 1 'map(.value) | tostring')"
is "$(row stop 1 "all(.value > 11 * $n * 0.99 and .value < 11 * $n * 1.01)")" true \
	"stop: what came before it is right within 1 %" || diag "$(row stop 1 'map(.value) | tostring')"

# The pinned event is a group of its own, which nothing is taken from: the same number, to what a
# futex more or less takes.
is "$(row pinned-1 1 'map(.state) | join(" ")')" "counted scaled scaled scaled scaled scaled" \
	"a pinned event is counted all of the time while others change groups"
between "$(($(row pinned-1 1 '.[0].value') - $(row pinned-0 1 '.[0].value')))" -200 200 "and misses nothing"

is "$(row rests 1 'map(.state) | unique | join(" ")') $(notes rests)" "counted 0" \
	"rests: a group of another type of core is not missed while its thread is on this one" ||
	diag "$(row rests 1 'map(.state) | tostring')"
is "$(states waits 1) $(notes waits)" "scaled 1" "waits: one of this type is" ||
	diag "$(row waits 1 'map(.state) | tostring')"

# Three threads of six descriptors, of 23 that the agent may take.
is "$(states budget 1) $(notes budget)" "scaled 1" "without descriptors for smaller groups a thread keeps its own"
is "$(row budget 1 "all(.value > $all * 0.9 and .share < 0.1)")" true "and says for how little of the time it counted"

# A line per snapshot, with what was counted since the one before.
"$O/pmctl" report --timeline --format json "$M/take-4.pmc" |
	jq -s '[.[] | select(.seq == 1)]' >"$M/timeline"
is "$(jq 'length > 10 and (map(.events | length) | unique) == [6]' "$M/timeline")" true \
	"the snapshots of a thread that changed groups are all there" || diag "$(head -c 500 "$M/timeline")"
is "$(jq -c '[range(6) as $i | map(.events[$i].raw // 0) | add]' "$M/timeline")" \
	"$(jq -c '[first(.threads[] | select(.seq == 1)).events[] | .raw]' "$M/take-4.json")" \
	"and together they are what it counted"
done_testing
