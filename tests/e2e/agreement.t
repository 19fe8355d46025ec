#!/bin/bash
# SPDX-License-Identifier: MIT
# agreement.t - task-clock and page faults per thread as `perf record -s` has them, totals as
# `perf stat` has them, on a program whose threads have known counts. Both count one and the same
# execution: on a machine that others use too, two executions differ by more than the tools do.
. "$(dirname "$0")/lib.sh"
threads=5

# under TOOL...: a report of the program, run by the tool.
under() {
	rm -f "$T/report.json"
	run "$@" -- env LD_PRELOAD="$AGENT" PMC_EVENTS=task-clock,page-faults \
		PMC_REPORT="json=$T/report.json" "$PROG/faults" $threads
	is "$status" 0 "the program ends well under ${*:1:2}"
	check_report "$@"
}
row() {
	jq -r --arg n "fault-$1" --arg e "$2" \
		'.threads[] | select(.name == $n) | .events[] | select(.name == $e) | .value' \
		"$T/report.json"
}

under perf record -q -s -e task-clock,page-faults -o "$T/perf.data"
# perf's table leaves a row out now and then, and the main thread's is not to be relied upon:
# a row is known by its number of faults, 1,000 + 500 i.
perf report -T -i "$T/perf.data" --stdio 2>/dev/null |
	awk '/PID *TID/ { on = 1; next } on && NF == 4 && $1 != $2 { print $3, $4 }' >"$T/perf.rows"
between "$(wc -l <"$T/perf.rows")" 3 $threads "perf record -s has rows" ||
	diag_file "$T/err" "perf record"
while read -r clock faults; do
	i=$(((faults - 1000 + 250) / 500))
	within "$(row $i page-faults)" "$faults" 2 "fault-$i: page-faults as perf record -s" ||
		diag_file "$T/perf.rows" "perf report -T"
	within "$(row $i task-clock)" "$clock" 2 "fault-$i: task-clock as perf record -s" ||
		diag_file "$T/perf.rows" "perf report -T"
done <"$T/perf.rows"

for i in $(seq $threads); do
	within "$(row "$i" page-faults)" $((1000 + 500 * i)) 2 "fault-$i: the pages it touched"
	is "$(jq --arg n "fault-$i" '.threads[] | select(.name == $n) |
		(.minor_faults - ([.events[] | select(.name == "page-faults")][0].value)) | fabs < 60' \
		"$T/report.json")" true "fault-$i: OS accounting and the event agree"
done

under perf stat -x, -e task-clock,page-faults -o "$T/stat"
total() {
	jq --arg e "$1" '[.threads[].events[] | select(.name == $e) | .value] | add' "$T/report.json"
}
stat_clock=$(awk -F, '$3 ~ /task-clock/ { printf "%.0f", $1 * 1e6 }' "$T/stat")
stat_faults=$(awk -F, '$3 ~ /page-faults/ { print $1 }' "$T/stat")
within "$(total task-clock)" "$stat_clock" 2 "task-clock in all as perf stat" || diag_file "$T/stat" stat
# env, the loader and what precedes the agent are in perf's number only.
between "$((stat_faults - $(total page-faults)))" 0 600 "page-faults in all as perf stat" ||
	diag_file "$T/stat" stat

# xz leaves its threads to the end of the process: what they did is read from outside.
head -c 8000000 /dev/urandom >"$T/random"
run env LD_PRELOAD="$AGENT" PMC_EVENTS=page-faults,context-switches PMC_REPORT="json=$T/report.json" \
	xz -T2 --block-size=1MiB -k "$T/random"
is "$status" 0 "xz ends normally"
check_report xz
is "$(jq '[.threads[] | select(.state == "live")] | length >= 2' "$T/report.json")" true \
	"its threads are alive at its end" || diag_file "$T/report.json" report
is "$(jq '[.threads[] | select(.state == "live") |
	((.minor_faults + .major_faults - .events[0].value) | fabs < 60) and
	((.voluntary_switches + .involuntary_switches - .events[1].value) | fabs < 10)] | unique' \
	"$T/report.json")" '[
  true
]' "and have their faults and switches, as the events have them" || diag_file "$T/report.json" report

# ---- every counter counts -------------------------------------------------------------------
# Virtual machines may have one that runs and stays at 0. Equal events, as many as the kernel takes at
# once and more, are equal numbers.
if [ "$("$PMCTL" doctor --json | jq .hardware)" = true ]; then
	for n in 2 3 4 5 6 7 8 14; do
		events=$(yes instructions:u | head -n $n | paste -sd,)
		run "$PMCTL" run -e "$events" --report "json=$T/report.json" -- \
			bash -c 'for ((i = 0; i < 100000; i++)); do :; done'
		check_report "$n equal events"
		is "$(jq -c '.threads[0].events | (map(.value) | sort) as $v |
			[length, ($v[0] > 1e8 and $v[-1] / $v[0] < 1.2)]' "$T/report.json")" "[$n,true]" \
			"$n times the same event: the same number" ||
			diag "$(jq -c '.threads[0].events | map([.value, .state])' "$T/report.json")"
	done
else
	skip "no hardware PMU" "every counter counts"
fi

done_testing
