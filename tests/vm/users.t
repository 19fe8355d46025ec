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

# ---- software events ------------------------------------------------------------------------
# modes NAME EVENT: state and scope of the main thread's EVENT plain / :u / :k; 0 if it read that.
modes() {
	jq -r --arg n "$2" '[.threads[] | select(.seq == 0) | .events[] |
		select(.name | IN($n, "software/" + $n + "/", $n + ":u", $n + ":k")) |
		if .value == null then .state elif .value == 0 then "0" else .scope end] | join(" / ")' "$M/software-$1.json"
}
for level in 2 1; do
	for user in root nobody; do
		# No page need be touched in kernel mode.
		kernel="all / not-supported / kernel" filtered="all / user / (kernel|0)"
		if [ $user-$level = nobody-2 ]; then
			kernel="not-permitted / not-supported / not-permitted"
			filtered="user / user / not-permitted"
		fi
		for event in task-clock syscalls:sys_enter_mprotect; do
			is "$(modes $user-$level $event)" "all / all / all" \
				"$user at paranoid $level: $event counts all, whatever is excluded"
		done
		for event in context-switches sched:sched_switch; do
			is "$(modes $user-$level $event)" "$kernel" "$user at paranoid $level: $event is never 0"
		done
		like "$(modes $user-$level page-faults)" "^$filtered$" "$user at paranoid $level: page-faults by mode"
	done
done

is "$(tail -n 1 "$M/doctor-3")" 1 "doctor run by nobody at paranoid 3 exits with 1" || diag_file "$M/doctor-3" doctor
like "$(cat "$M/doctor-3")" 'perf_event_paranoid=(2|1|0)|perf_event_paranoid *blocks' \
	"doctor run by nobody at paranoid 3 names perf_event_paranoid" || diag_file "$M/doctor-3" doctor

done_testing
