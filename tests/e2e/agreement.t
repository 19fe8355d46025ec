#!/bin/bash
# SPDX-License-Identifier: MIT
# agreement.t - task-clock and page faults per thread equal those of `perf record -s`, totals equal
# those of `perf stat`, on a program whose threads have known counts. Both tools count the same
# execution: on a shared machine, two executions differ by more than the tools do.
. "$(dirname "$0")/lib.sh"
threads=5

# under TOOL...: run the program under the agent and TOOL; the report is report.json.
under() {
	rm -f "$T/report.pmc"
	run "$@" -- "$PROG/rusage" "$T/ru" env LD_PRELOAD="$AGENT" PMC_EVENTS=task-clock,page-faults \
		PMC_REPORT=off PMC_OUT="$T/report.pmc" "$PROG/faults" $threads
	is "$status" 0 "the program exits with 0 under ${*:1:2}"
	check_report "$@"
}
row() {
	jq -r --arg n "fault-$1" --arg e "$2" \
		'.threads[] | select(.name == $n) | .events[] | select(.name == $e) | .value' \
		"$T/report.json"
}

under perf record -q -s -e task-clock,page-faults -o "$T/perf.data"
# perf's table sometimes omits a row, and its row of the main thread is unreliable: a row is identified
# by its number of faults, 1,000 + 500 i.
perf report -T -i "$T/perf.data" --stdio 2>/dev/null |
	awk '/PID *TID/ { on = 1; next } on && NF == 4 && $1 != $2 { print $3, $4 }' >"$T/perf.rows"
between "$(wc -l <"$T/perf.rows")" 3 $threads "perf record -s has at least 3 thread rows" ||
	diag_file "$T/err" "perf record"
# Only perf counts the first and last instructions of a thread. If the hypervisor takes the CPU away just
# then, that time is in perf's task-clock alone, in few threads.
far=0
while read -r clock faults; do
	i=$(((faults - 1000 + 250) / 500))
	within "$(row $i page-faults)" "$faults" 2 "fault-$i: page-faults equal those of perf record -s" ||
		diag_file "$T/perf.rows" "perf report -T"
	ours=$(row $i task-clock)
	[ $(((clock - ours) * 50 / clock)) -eq 0 ] || far=$((far + 1))
done <"$T/perf.rows"
between $far 0 $(($(wc -l <"$T/perf.rows") / 2)) "task-clock equals that of perf record -s in most threads" ||
	diag_file "$T/perf.rows" "perf report -T"

for i in $(seq $threads); do
	within "$(row "$i" page-faults)" $((1000 + 500 * i)) 2 "fault-$i: page-faults equal the number of pages touched"
	is "$(jq --arg n "fault-$i" '.threads[] | select(.name == $n) |
		(.minor_faults - ([.events[] | select(.name == "page-faults")][0].value)) | fabs < 60' \
		"$T/report.json")" true "fault-$i: minor faults of OS accounting equal page-faults"
done

under perf stat -x, -e task-clock,page-faults -o "$T/stat"
total() {
	jq --arg e "$1" '[.threads[].events[] | select(.name == $e) | .value] | add' "$T/report.json"
}
stat_clock=$(awk -F, '$3 ~ /task-clock/ { printf "%.0f", $1 * 1e6 }' "$T/stat")
stat_faults=$(awk -F, '$3 ~ /page-faults/ { print $1 }' "$T/stat")
# The hypervisor may take the CPU away in what only perf counts.
taken=$(jq '.task_clock_ns - .cpu_ns | [., 0] | max' "$T/ru")
# Only perf counts env, the loader and the end: up to 20 ms on a slow machine.
between "$(total task-clock)" $((stat_clock * 96 / 100 - 20000000 - taken)) "$stat_clock" "total task-clock is about that of perf stat" || diag_file "$T/stat" stat
# Only perf counts env, the loader and other work before the agent starts.
between "$((stat_faults - $(total page-faults)))" 0 600 "total page-faults equal those of perf stat" ||
	diag_file "$T/stat" stat

# What pmctl has used before the exec of its command is left out; mapping the agent is not.
run perf stat -x, -e page-faults -o "$T/stat" -- true
stat_faults=$(awk -F, '$3 ~ /page-faults/ { print $1 }' "$T/stat")
run "$PMCTL" run --report "json=$T/report.json" -e page-faults -- true
between "$(($(total page-faults) - stat_faults))" 0 30 "page faults of true: those of perf stat and of mapping the agent"

# xz does not join its threads, so another thread reads their counts at the end of the process.
head -c 8000000 /dev/urandom >"$T/random"
rm -f "$T/report.pmc"
run env LD_PRELOAD="$AGENT" PMC_EVENTS=page-faults,context-switches PMC_REPORT=off PMC_OUT="$T/report.pmc" \
	xz -T2 --block-size=1MiB -k "$T/random"
is "$status" 0 "xz exits with 0"
check_report xz
is "$(jq '[.threads[] | select(.state == "live")] | length >= 2' "$T/report.json")" true \
	"xz has at least two threads that are live at its end" || diag_file "$T/report.json" report
is "$(jq '[.threads[] | select(.state == "live") |
	((.minor_faults + .major_faults - .events[0].value) | fabs < 60) and
	((.voluntary_switches + .involuntary_switches - .events[1].value) | fabs < 10)] | unique' \
	"$T/report.json")" '[
  true
]' "live threads of xz: page faults and switches of OS accounting equal the events" || diag_file "$T/report.json" report

# ---- dead counters -------------------------------------------------------------------------
# In a virtual machine, a scheduled counter may still read 0. Identical events, up to more than the
# kernel schedules at once, must have equal values.
if [ "$("$PMCTL" doctor --json | jq .hardware)" = true ]; then
	for n in 2 3 4 5 6 7 8 14; do
		events=$(yes instructions:u | head -n $n | paste -sd,)
		run "$PMCTL" run -e "$events" --report "json=$T/report.json" -- \
			bash -c 'for ((i = 0; i < 100000; i++)); do :; done'
		check_report "$n equal events"
		is "$(jq -c '.threads[0].events | (map(.value) | sort) as $v |
			[length, ($v[0] > 1e8 and $v[-1] / $v[0] < 1.2)]' "$T/report.json")" "[$n,true]" \
			"the same event $n times: $n equal values" ||
			diag "$(jq -c '.threads[0].events | map([.value, .state])' "$T/report.json")"
	done
else
	skip "no hardware PMU" "dead counters"
fi

done_testing
