#!/bin/bash
# SPDX-License-Identifier: MIT
# users.t - what root and others may count at each perf_event_paranoid, on a machine with a PMU.
. "$(dirname "$0")/lib.sh"
machine

# What became of the three events of the thread that loops: all, :u, :k.
became() {
	jq -r '[.threads[] | select(.seq == 1) | .events[] | .state + " " + .scope] | join(", ")' "$M/$1.json"
}
around=$(($(value root-0 1 instructions:u) - 1000000))

for level in 3 2 1 0; do
	is "$(became root-$level)" "counted all, counted user, counted kernel" \
		"root at paranoid $level counts everything"
	is "$(value root-$level 1 instructions:u)" $((1000000 + around)) "root at $level: exactly"
done
is "$(became nobody-3 | sed 's/ [a-z]*\(,\|$\)/\1/g')" "not-permitted, not-permitted, not-permitted" \
	"nobody at paranoid 3 counts nothing"
is "$(jq '[.threads[] | .cpu_ns > 0 and .minor_faults != null] | all' "$M/nobody-3.json")" true \
	"and has CPU time and faults"
is "$(became nobody-2)" "counted user, counted user, not-permitted kernel" \
	"nobody at paranoid 2: user mode, kernel mode not permitted"
is "$(value nobody-2 1 instructions) $(value nobody-2 1 instructions:k)" \
	"$(value nobody-2 1 instructions:u) null" "nobody at 2: the fallback is the user's number; no 0"
for level in 1 0; do
	is "$(became nobody-$level)" "counted all, counted user, counted kernel" \
		"nobody at paranoid $level counts the kernel too"
done
for level in 2 1 0; do
	is "$(value nobody-$level 1 instructions:u)" $((1000000 + around)) "nobody at $level: exactly"
done
# The kernel starts the three one after the other, so that they miss a few of its instructions.
for level in 1 0; do
	between "$(($(value nobody-$level 1 instructions:u) + $(value nobody-$level 1 instructions:k) - $(value nobody-$level 1 instructions)))" \
		-1000 1000 "nobody at $level: user and kernel add up to all"
done
is "$(tail -n 1 "$M/doctor-3")" 1 "doctor for nobody at 3: no perf events" || diag_file "$M/doctor-3" doctor
like "$(cat "$M/doctor-3")" 'perf_event_paranoid=(2|1|0)|perf_event_paranoid *blocks' \
	"doctor names perf_event_paranoid" || diag_file "$M/doctor-3" doctor

done_testing
