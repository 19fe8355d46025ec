#!/bin/bash
# SPDX-License-Identifier: MIT
# counts.t - every row is exact: threads that ran a known number of instructions, one or thousands.
. "$(dirname "$0")/lib.sh"
machine

# Instructions of start and stop that are inside the row: the same for every thread.
around=$(($(value powers 1 instructions:u) - 1000))
diag "a thread's row has $around instructions beside the loop's"
between "$around" 10 1200 "start and stop add 10 to 1,200 instructions to a thread's row"
seq=1
for n in 1000 10000 100000 1000000 10000000 100000000 1000 5000000000; do
	is "$(value powers $seq instructions:u)" $((n + around)) "loop of $n instructions: the row is exact"
	is "$(values powers $seq | cut -d' ' -f3 | sort -u)" counted "loop of $n instructions: every event is counted"
	seq=$((seq + 1))
done

# all_exact REPORT THREADS EVENTS SLACK: every event of every thread has the value of the loop plus the
# same overhead. SLACK: variation from a barrier, where the last thread to arrive does not wait.
all_exact() {
	is "$(jq '[.threads[] | select(.seq > 0)] | length' "$M/$1.json")" "$2" "$1: the report has $2 thread rows"
	is "$(jq '[.threads[] | select(.seq > 0) | .events[] | select(.state == "counted")] | length' \
		"$M/$1.json")" $(($2 * $3)) "$1: each of the $3 events of each row is counted"
	is "$(jq '[.threads[] | select(.seq > 0) | [.events[] | select(.name | startswith("cycles") | not)
		| .value] | unique | length] | unique | tostring' "$M/$1.json")" '"[1]"' \
		"$1: the same event under several names gives one number in a row"
	jq -r '.threads[] | select(.seq > 0) | .events[0].value - 100000' "$M/$1.json" |
		sort -n | uniq -c | sort -rn >"$T/spread"
	is "$(jq "[.threads[] | select(.seq > 0) | .events[].value - 100000] | (max - min <= $4) and
		min >= $around and max <= $around + (if $4 > 0 then 200 else 0 end)" "$M/$1.json")" true \
		"$1: every row is the loop plus the same overhead of start and stop"
	diag "$1: rows with so many instructions beside the loop: $(head -n 8 "$T/spread" | tr -s ' ' | tr '\n' ';')"
}
all_exact six 1000 6 50
all_exact three 1000 3 50
all_exact many 5000 6 50
# A snapshot is taken by a thread of the program, whose groups do not count it: 90 instructions to switch
# them off and on.
is "$(jq '[.threads[] | select(.seq > 0) | [.events[].value]] | [length, (map(length) | add)] | tostring' \
	"$M/churn.json")" '"[400,2400]"' "churn: the report has 400 thread rows with 6 events each"
between "$(jq '[.threads[] | select(.seq > 0) | .events[].value - 100000] | min' "$M/churn.json")" \
	"$around" $((around + 500)) "churn: rows are the loop plus start, stop and a timer"
between "$(jq '[.threads[] | select(.seq > 0) | .events[].value] | max - min' "$M/churn.json")" 1 300 \
	"churn: snapshots are not counted in the rows of threads that take them" ||
	diag "$(jq -r '.threads[] | select(.seq > 0) | .events[0].value - 100000' "$M/churn.json" | sort -n | uniq -c)"

# Comparison with a counter outside the agent. The host's pmctl reads the dump.
for n in 250 500; do
	"$PMCTL" report --format json "$M/rows-$n.pmc" >"$T/rows.json"
	jq '[.threads[].events[0].value] | add' "$T/rows.json" >"$T/rows"
	echo $(($(cat "$M/outside-$n") - $(cat "$T/rows"))) >"$T/beyond-$n"
	diag "$n threads: outside $(cat "$M/outside-$n"), rows $(cat "$T/rows"), bare $(cat "$M/bare-$n")"
done
each=$((($(cat "$T/beyond-500") - $(cat "$T/beyond-250")) / 250))
cost=$((($(cat "$M/outside-500") - $(cat "$M/bare-500") - $(cat "$M/outside-250") + $(cat "$M/bare-250")) / 250))
diag "beyond its row a thread has $each instructions; against a bare thread it has $cost more"
# Half of them are glibc's: starting and ending a thread, searching thread-specific data.
between "$each" 0 2700 "instructions of a thread outside its row: at most 2,700"

is "$(values names 1 | cut -d' ' -f2- | sort -u)" "$((1000000 + around)) counted" \
	"generic, raw, sysfs and libpfm4 names of instructions give the same value" || diag "$(values names 1)"
is "$(values cycles 1 | cut -d' ' -f2- | sort -u)" "$((1000000 + around)) counted" \
	"all names of cycles give the number of instructions: IPC is 1.000" || diag "$(values cycles 1)"

done_testing
