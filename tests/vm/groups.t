#!/bin/bash
# SPDX-License-Identifier: MIT
# groups.t - more events than counters: groups that take turns, and scaled values marked so.
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

# scaled NAME EVENTS: all are scaled, ran a part of the time, and are within 1 % of the loop.
scaled() {
	is "$(row $1 length)" "$2" "$1: $2 columns"
	is "$(row $1 'map(.state) | unique | join(" ")')" scaled "$1: every event is scaled" ||
		diag "$(row $1 'map([.state, .value, .share]) | tostring')"
	is "$(row $1 'all(.share > 0.2 and .share < 0.95)')" true "$1: each ran a part of the time"
	is "$(row $1 "all(.value > $loop * 0.99 and .value < $loop * 1.01)")" true \
		"$1: each value is within 1 %" || diag "$(row $1 'map(.value) | tostring')"
	is "$(row $1 'all(.raw < .value)')" true "$1: raw is less than value"
	diag "$1: $(row $1 'map([(.share * 100 | round), .value]) | tostring')"
}

is "$(row same-6 'map(.state) | unique | join(" ")')" counted "6 events on 6 counters are counted"
is "$(row same-6 'map(.value) | unique | length')" 1 "the same event six times: six equal columns"
is "$(planned 6)" 6 "the plan says one group of 6"
scaled same-7 7
is "$(planned 7)" 6+1 "the plan of 7, which the kernel accepts as one group, says 6 and 1"
scaled same-14 14
is "$(planned 14)" 6+6+2 "the plan of 14 says 6, 6 and 2"

is "$(row mixed 'map([(.name | ltrimstr("instructions:u")), .state] | join(" ")) | unique | join(", ")')" \
	" scaled, page-faults counted, task-clock counted" \
	"software events are counted all of the time beside groups that take turns"

# As the NMI watchdog does.
scaled held 6
is "$(planned held)" 5+1 "one counter held: the plan says 5 and 1"

is "$(planned held-cycles)" 6+1 "cycles fit beside the 5, though another event does not"

is "$(row braced 'map(.state) | join(" ")')" \
	"not-counted not-counted not-counted not-counted not-counted not-counted not-counted counted" \
	"a braced group of 7 is not split, the event beside it is counted"
is "$(row braced '[.[] | .value] | map(select(. == null)) | length')" 7 "its values are null, not 0"
like "$(cat "$M/plan-braced")" "instructions:u: not-counted \(its braced group needs more counters" \
	"run -n says why"
like "$(cat "$M/table-braced")" "braced group" \
	"the report says why"
is "$(row brace-held 'map(.state) | unique | join(" ")')" not-counted \
	"a braced group of 6 with a counter held is not counted"
scaled brace-fits 7
is "$(row taken 'map([.name, .state] | join(" ")) | join(", ")')" \
	"instructions:u not-counted, cycles:u scaled" \
	"all six counters held: instructions are not counted, the cycle counter is free"
is "$(row taken ".[0].value == null and .[1].value > $loop * 0.99 and .[1].value < $loop * 1.01")" true \
	"the cycles are right" || diag "$(row taken tostring)"
is "$(row cycles 'map(.state) | unique | join(" ")')" counted \
	"seven events fit with the cycle counter"

# Seven pinned events on six counters: the kernel chooses the one without.
is "$(row pinned 'map(.state) | sort | join(" ")')" \
	"counted counted counted counted counted counted not-counted" \
	"7 pinned events on 6 counters: one is not counted"
is "$(row pinned 'map(select(.state == "counted") | .value) | max - min < 10000 and min >= 100000000')" \
	true "those that run count everything"
like "$(row pinned '.[] | select(.state != "counted") | [.value, .raw, .reason] | tostring')" \
	'^\[null,null,"pinned.*counter' \
	"the value of the other is null, not 0"
is "$(row pinned-brace 'map(.state) | join(" ")')" \
	"counted counted counted counted counted not-counted not-counted" \
	"a pinned group runs as a whole or not at all"
like "$(cat "$M/plan-pinned")" "group 7: descriptors 1, PMU counters 1, pinned" "the plan says pinned"

# Counters that are lost while the program runs: what did not run is not counted, and a note says so.
states() {
	SEQ=$2 row "$1" 'map(.state) | unique | join(" ")'
}
waited() {
	jq '[.processes[0].notes[] | select(.code == 20)] | length' "$M/$1.json"
}
for n in 1 6; do
	is "$(states late-$n 1)" counted "late-$n: before counters are lost all events are counted"
	is "$(states late-$n 2) $(states late-$n 6)" "not-counted not-counted" \
		"late-$n: a group that did not run is not counted"
	is "$(waited late-$n)" 1 "late-$n: a note says so"
done
is "$(states short-1 1)/$(states short-1 2)/$(states short-1 13)" counted/not-counted/not-counted \
	"short threads: what did not run is not counted"
is "$(waited short-1)" 1 "short threads: judged in aggregate, a note says so"
is "$(waited same-14) $(waited short-full)" "0 0" \
	"groups that wait for each other, or for the copies of PMC_INHERIT=full: no note"

mode() {
	jq -r '.processes[0].inherit_mode' "$M/$1.json"
}
is "$(mode auto-3) $(mode auto-4) $(mode auto-held)" "full clock clock" \
	"PMC_INHERIT=auto: full only if twice the events fit at once"
is "$(row auto-3 'map(.state) | unique | join(" ")')" counted "with full inherit groups rows are counted"
is "$(jq -r '.processes[0].unattributed | map(.state) | unique | join(" ")' "$M/auto-3.json")" counted \
	"and so is the total"
scaled full-6 6
is "$(jq '[.processes[0].unattributed[].value] | unique | tostring' "$M/full-6.json")" '"[null]"' \
	"unattributed is not known if either side is scaled"

counters() {
	jq -r '.checks[] | select(.name == "counters") | .status + ": " + .detail' "$M/doctor-$1"
}
like "$(counters free)" "^ok: 6 events" "doctor counts the counters"
like "$(counters held)" '^limits: 2 of 6 .* [0-9]+ \(sleep\)$' \
	"doctor names the process that holds counters"
like "$(counters nobody)" '^limits: 2 of 6' "doctor of an unprivileged user knows how many" ||
	diag_file "$M/doctor-nobody" doctor

done_testing
