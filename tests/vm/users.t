#!/bin/bash
# SPDX-License-Identifier: MIT
# users.t - events permitted to root and to user nobody at each perf_event_paranoid, with a PMU.
. "$(dirname "$0")/lib.sh"
machine

# became NAME: state and scope of the three events (all, :u, :k) of the thread that loops.
became() {
	jq -r '[.threads[] | select(.seq == 1) | .events[] | .state + " " + .scope] | join(", ")' "$M/$1.json"
}
around=$(($(value root-0 1 instructions:u) - 1000000))

for level in 3 2 1 0; do
	is "$(became root-$level)" "counted all, counted user, counted kernel" \
		"root at paranoid $level counts everything"
	is "$(value root-$level 1 instructions:u)" $((1000000 + around)) "root at paranoid $level: the count is exact"
done
is "$(became nobody-3 | sed 's/ [a-z]*\(,\|$\)/\1/g')" "not-permitted, not-permitted, not-permitted" \
	"nobody at paranoid 3: no event is permitted"
is "$(jq '[.threads[] | .cpu_ns > 0 and .minor_faults != null] | all' "$M/nobody-3.json")" true \
	"nobody at paranoid 3: rows have CPU time and page faults"
is "$(became nobody-2)" "counted user, counted user, not-permitted kernel" \
	"nobody at paranoid 2: user mode, kernel mode not permitted"
is "$(value nobody-2 1 instructions) $(value nobody-2 1 instructions:k)" \
	"$(value nobody-2 1 instructions:u) null" \
	"nobody at paranoid 2: instructions equal instructions:u, instructions:k is null"
for level in 1 0; do
	is "$(became nobody-$level)" "counted all, counted user, counted kernel" \
		"nobody at paranoid $level counts kernel mode, too"
done
for level in 2 1 0; do
	is "$(value nobody-$level 1 instructions:u)" $((1000000 + around)) "nobody at paranoid $level: the count is exact"
done
# The kernel starts the three events one after the other, so each misses a few kernel instructions.
for level in 1 0; do
	between "$(($(value nobody-$level 1 instructions:u) + $(value nobody-$level 1 instructions:k) - $(value nobody-$level 1 instructions)))" \
		-1000 1000 "nobody at paranoid $level: user and kernel counts add up to the total"
done
is "$(tail -n 1 "$M/doctor-3")" 1 "doctor run by nobody at paranoid 3 exits with 1" || diag_file "$M/doctor-3" doctor
like "$(cat "$M/doctor-3")" 'perf_event_paranoid=(2|1|0)|perf_event_paranoid *blocks' \
	"doctor run by nobody at paranoid 3 names perf_event_paranoid" || diag_file "$M/doctor-3" doctor

done_testing
