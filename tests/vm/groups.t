#!/bin/bash
# SPDX-License-Identifier: MIT
# groups.t - more events than counters: multiplexed groups and scaled values.
. "$(dirname "$0")/lib.sh"
machine
loop=400000000

# row NAME FILTER: the events of the thread that loops, with .share, running / enabled time.
row() {
	jq -r "[.threads[] | select(.seq == ${SEQ:-1}) | .events[] | . + { share: ((.running_ns // 0) / ((.enabled_ns // 0) + 1)) }] | $2" \
		"$M/$1.json"
}
planned() {
	grep '^group' "$M/plan-$1" | sed 's/.*counters //' | paste -sd+ -
}

# scaled NAME EVENTS: every event is scaled, ran part of the time and is within 1 % of the loop.
scaled() {
	is "$(row $1 length)" "$2" "$1: the row has $2 events"
	is "$(row $1 'map(.state) | unique | join(" ")')" scaled "$1: every event is scaled" ||
		diag "$(row $1 'map([.state, .value, .share]) | tostring')"
	is "$(row $1 'all(.share > 0.2 and .share < 0.95)')" true "$1: every event ran part of the time"
	is "$(row $1 "all(.value > $loop * 0.99 and .value < $loop * 1.01)")" true \
		"$1: each scaled value is within 1 %" || diag "$(row $1 'map(.value) | tostring')"
	is "$(row $1 'all(.raw < .value)')" true "$1: each raw count is less than the scaled value"
	diag "$1: $(row $1 'map([(.share * 100 | round), .value]) | tostring')"
}

is "$(row same-6 'map(.state) | unique | join(" ")')" counted "6 events on 6 counters are counted"
is "$(row same-6 'map(.value) | unique | length')" 1 "the same event six times: six equal values"
is "$(planned 6)" 6 "run -n plans 6 events as one group of 6"
scaled same-7 7
is "$(planned 7)" 6+1 "run -n plans 7 events, which the kernel accepts as one group, as groups of 6 and 1"
scaled same-14 14
is "$(planned 14)" 6+6+2 "run -n plans 14 events as groups of 6, 6 and 2"

is "$(row mixed 'map([(.name | ltrimstr("instructions:u")), .state] | join(" ")) | unique | join(", ")')" \
	" scaled, page-faults counted, task-clock counted" \
	"software events are counted all of the time beside multiplexed groups"

# Another process holds one counter, as the NMI watchdog does.
scaled held 6
is "$(planned held)" 5+1 "one counter held by another process: run -n plans groups of 5 and 1"

is "$(planned held-cycles)" 6+1 \
	"one counter held: run -n plans cycles in the group of 5, another event in a second group"

is "$(row braced 'map(.state) | join(" ")')" \
	"not-counted not-counted not-counted not-counted not-counted not-counted not-counted counted" \
	"a braced group of 7 is not split and not counted; an event outside it is counted"
is "$(row braced '[.[] | .value] | map(select(. == null)) | length')" 7 \
	"the values of a braced group that does not fit are null, not 0"
like "$(cat "$M/plan-braced")" "instructions:u: not-counted \(its braced group needs more counters" \
	"run -n gives the reason that a braced group is not counted"
like "$(cat "$M/table-braced")" "braced group" \
	"the report gives the reason that a braced group is not counted"
is "$(row brace-held 'map(.state) | unique | join(" ")')" not-counted \
	"a braced group of 6 with a counter held is not counted"
scaled brace-fits 7
is "$(row taken 'map([.name, .state] | join(" ")) | join(", ")')" \
	"instructions:u not-counted, cycles:u scaled" \
	"all six counters held: instructions are not counted, the cycle counter is free"
is "$(row taken ".[0].value == null and .[1].value > $loop * 0.99 and .[1].value < $loop * 1.01")" true \
	"all six counters held: instructions are null, cycles are within 1 %" || diag "$(row taken tostring)"
is "$(row cycles 'map(.state) | unique | join(" ")')" counted \
	"seven events fit with the cycle counter"

# Seven pinned events on six counters.
is "$(row pinned 'map(.state) | sort | join(" ")')" \
	"counted counted counted counted counted counted not-counted" \
	"7 pinned events on 6 counters: one is not counted"
is "$(row pinned 'map(select(.state == "counted") | .value) | max - min < 10000 and min >= 100000000')" \
	true "the six pinned events that run count the whole loop"
like "$(row pinned '.[] | select(.state != "counted") | [.value, .raw, .reason] | tostring')" \
	'^\[null,null,"pinned.*counter' \
	"the pinned event without a counter is null, not 0, with a reason"
is "$(row pinned-brace 'map(.state) | join(" ")')" \
	"counted counted counted counted counted not-counted not-counted" \
	"a pinned group is counted as a whole or not at all"
like "$(cat "$M/plan-pinned")" "group 6: descriptors 1, PMU counters 1, pinned" "run -n marks a pinned group"
unlike "$(cat "$M/plan-pinned")" "group 7" "run -n plans no group for a pinned event without a counter"
is "$(grep -o 'PMU counters.*' "$M/plan-beside" | xargs -d '\n' | head -n 1)" \
	"PMU counters 1, pinned PMU counters 5 PMU counters 1" "groups fit beside a pinned event" ||
	diag_file "$M/plan-beside" plan
is "$(row beside 'map(.state) | join(" ")')" "counted scaled scaled scaled scaled scaled scaled" \
	"six events beside a pinned one are all counted in turn"
is "$(row beside '.[0].value as $all | map(.value) | min > $all * 0.98 and max < $all * 1.02')" true \
	"six events beside a pinned one: scaled values within 2 %" || diag "$(row beside tostring)"
is "$(jq '.processes[0].notes | length' "$M/beside.json")" 0 "no other user of the PMU is blamed" ||
	diag "$(jq -c '.processes[0].notes' "$M/beside.json")"

# Counters lost while the program runs: a group that did not run is not counted, and there is a note.
states() {
	SEQ=$2 row "$1" 'map(.state) | unique | join(" ")'
}
waited() {
	jq '[.processes[0].notes[] | select(.code == 20)] | length' "$M/$1.json"
}
for n in 1 6; do
	is "$(states late-$n 1)" counted "late-$n: all events are counted before other processes take counters"
	is "$(states late-$n 2) $(states late-$n 6)" "not-counted not-counted" \
		"late-$n: a group that did not run is not counted"
	is "$(waited late-$n)" 1 "late-$n: the report has a note about groups that did not run"
done
is "$(states short-1 1)/$(states short-1 2)/$(states short-1 13)" counted/not-counted/not-counted \
	"short threads: a group that did not run is not counted"
is "$(waited short-1)" 1 "short threads, judged in aggregate: the report has a note about groups that did not run"
is "$(waited same-14) $(waited short-full)" "0 0" \
	"no note for multiplexed groups, nor for groups that wait for inherit groups"

mode() {
	jq -r '.processes[0].inherit_mode' "$M/$1.json"
}
is "$(mode auto-3) $(mode auto-4) $(mode auto-held)" "full clock clock" \
	"PMC_INHERIT=auto: full only if twice the events fit at once"
is "$(row auto-3 'map(.state) | unique | join(" ")')" counted "PMC_INHERIT=auto with 3 events: thread rows are counted"
is "$(jq -r '.processes[0].unattributed | map(.state) | unique | join(" ")' "$M/auto-3.json")" counted \
	"PMC_INHERIT=auto with 3 events: unattributed is counted"
scaled full-6 6
is "$(jq '[.processes[0].unattributed[].value] | unique | tostring' "$M/full-6.json")" '"[null]"' \
	"unattributed is null if rows or totals are scaled"

counters() {
	jq -r '.checks[] | select(.name == "counters") | .status + ": " + .detail' "$M/doctor-$1"
}
like "$(counters free)" "^ok: 6 events" "doctor reports 6 counters"
like "$(counters held)" '^limits: 2 of 6 .* [0-9]+ \(sleep\)$' \
	"doctor names the process that holds counters"
like "$(counters nobody)" '^limits: 2 of 6' "doctor run by an unprivileged user reports the number of held counters" ||
	diag_file "$M/doctor-nobody" doctor

done_testing
