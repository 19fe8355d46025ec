#!/bin/bash
# SPDX-License-Identifier: MIT
# threads.t - 10,000 threads in sequence, 2,000 at once: rows, counts, constant memory, table size.
. "$(dirname "$0")/lib.sh"

PMC_EVENTS=task-clock,page-faults report "$PROG/churn" 10000 2000
is "$status" 0 "10,000 threads: the program exits with status 0"
is "$(cat "$T/out")" "joined 10000" "10,000 threads: all joined"
is "$(json "$T/report.json" '.threads | length')" 10001 "10,000 threads: 10,001 rows"
is "$(json "$T/report.json" '[.threads[].seq] | unique | length')" 10001 "10,000 threads: one row per thread"
is "$(json "$T/report.json" '[.threads[] | select(.cpu_ns > 0)] | length')" 10001 \
	"10,000 threads: each row has CPU time"
is "$(json "$T/report.json" '[.threads[] | select(all(.events[]; .state == "counted"
	and .running_ns > 0) and ([.events[] | select(.name == "task-clock")][0].value > 0))] | length')" \
	10001 "10,000 threads: all events of each row are counted"
is "$(json "$T/report.json" '[.threads[] | select(.state == "exited")] | length >= 10000')" true \
	"10,000 threads: all but main are reported as exited"
is "$(json "$T/report.json" '.processes[0].coverage |
	"\(.threads_seen) \(.threads_counted) \(.threads_uncounted | length)"')" "10001 10001 0" \
	"10,000 threads: the coverage summary has all threads counted"

# Memory: resident size while the program runs (before the report is made), and the maximum of the
# whole process when no report is made.
rss() {
	PMC_EVENTS=task-clock,page-faults PMC_REPORT=$2 PMC_OUT=${3:-} run agent "$PROG/churn" "$1" 200 \
		"$T/rss"
	cat "$T/rss"
}
few=$(rss 100 off)
many=$(rss 10000 off)
between $((many - few)) -1024 1024 "resident memory after 10,000 threads equals that after 100 (within 1,024 KiB)" ||
	diag "after 100: $few KiB, after 10,000: $many KiB"

whole() {
	run "$PROG/rusage" "$T/ru" env LD_PRELOAD="$AGENT" PMC_EVENTS=task-clock PMC_REPORT=off \
		PMC_OUT="$T/w$1.pmc" "$PROG/churn" "$1" 200
	json "$T/ru" .max_rss_kib
}
few=$(whole 100)
many=$(whole 10000)
between $((many - few)) -1024 1024 "maximum memory with a dump and no report: 10,000 threads as 100 (within 1,024 KiB)" ||
	diag "100: $few KiB, 10,000: $many KiB"
is "$("$PMCTL" report --format json "$T/w10000.pmc" | jq '.threads | length')" 10001 \
	"the dump of 10,000 threads has every row"

PMC_EVENTS=task-clock,page-faults report "$PROG/crowd" 2000
is "$status $(cat "$T/out")" "0 crowd of 2000" "2,000 at once: the program exits with status 0"
is "$(json "$T/report.json" '.threads | length')" 2001 "2,000 at once: 2,001 rows"
is "$(json "$T/report.json" '[.threads[] | select(all(.events[]; .state == "counted"))] | length')" \
	2001 "2,000 at once: all events of all threads are counted" ||
	diag "$(json "$T/report.json" '.processes[0].coverage')"

# The table for people.
PMC_EVENTS=task-clock run agent "$PROG/crowd" 2000
lines=$(wc -l <"$T/err")
between "$lines" 10 40 "the table of 2,001 threads has at most 40 lines" || diag_file "$T/err" report
sed '/^ coverage/,$d' "$T/err" >"$T/table"
between "$(wc -L <"$T/table")" 20 100 "the table is no wider than 100 columns" || diag_file "$T/err" report
like "$(cat "$T/err")" 'crowd +2,000 ' "the table groups the 2,000 threads in one pool" ||
	diag_file "$T/err" report

# Threads that end at the same time as the process: each has a row, in either order.
for i in $(seq 30); do
	PMC_EVENTS=task-clock report "$PROG/last_ends" 30
	json "$T/report.json" '.threads[] | "\(.seq) \(.cpu_ns != null) \(.events[0].state)"'
done | sort | uniq -c | awk '{ print $1, $3, $4 }' | sort -u >"$T/last"
is "$(cat "$T/last")" "30 true counted" "threads that end during exit(): each has CPU time and counts"

done_testing
