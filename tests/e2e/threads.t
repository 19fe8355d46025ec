#!/bin/bash
# SPDX-License-Identifier: MIT
# threads.t - many threads: 10,000 one after another, 2,000 at once; flat memory, a short table.
. "$(dirname "$0")/lib.sh"

PMC_EVENTS=task-clock,page-faults report "$PROG/churn" 10000 2000
is "$status" 0 "10,000 threads: the program ends well"
is "$(cat "$T/out")" "joined 10000" "10,000 threads: all joined"
is "$(json "$T/report.json" '.threads | length')" 10001 "10,000 threads: 10,001 rows"
is "$(json "$T/report.json" '[.threads[].seq] | unique | length')" 10001 "each row once"
is "$(json "$T/report.json" '[.threads[] | select(.cpu_ns > 0)] | length')" 10001 \
	"each row has CPU time"
is "$(json "$T/report.json" '[.threads[] | select(all(.events[]; .state == "counted"
	and .running_ns > 0) and ([.events[] | select(.name == "task-clock")][0].value > 0))] | length')" \
	10001 "each row has its counts"
is "$(json "$T/report.json" '[.threads[] | select(.state == "exited")] | length >= 10000')" true \
	"each thread ended"
is "$(json "$T/report.json" '.processes[0].coverage |
	"\(.threads_seen) \(.threads_counted) \(.threads_uncounted | length)"')" "10001 10001 0" \
	"the ledger says so"

# Memory: what the host has while it runs (the report to come is not in it), and the whole
# process when there is no report to make.
rss() {
	PMC_EVENTS=task-clock,page-faults PMC_REPORT=$2 PMC_OUT=${3:-} run agent "$PROG/churn" "$1" 200 \
		"$T/rss"
	cat "$T/rss"
}
few=$(rss 100 "json=$T/r")
many=$(rss 10000 "json=$T/r")
between $((many - few)) -1024 1024 "host memory after 10,000 threads as after 100 (KiB)" ||
	diag "after 100: $few KiB, after 10,000: $many KiB"

whole() {
	run "$PROG/rusage" "$T/ru" env LD_PRELOAD="$AGENT" PMC_EVENTS=task-clock PMC_REPORT=off \
		PMC_OUT="$T/w$1.pmc" "$PROG/churn" "$1" 200
	json "$T/ru" .max_rss_kib
}
few=$(whole 100)
many=$(whole 10000)
between $((many - few)) -1024 1024 "whole process with a dump and no report: as flat (KiB)" ||
	diag "100: $few KiB, 10,000: $many KiB"
is "$("$PMCTL" report --format json "$T/w10000.pmc" | jq '.threads | length')" 10001 \
	"its dump has every row"

PMC_EVENTS=task-clock,page-faults report "$PROG/crowd" 2000
is "$status $(cat "$T/out")" "0 crowd of 2000" "2,000 at once: the program ends well"
is "$(json "$T/report.json" '.threads | length')" 2001 "2,000 at once: 2,001 rows"
is "$(json "$T/report.json" '[.threads[] | select(all(.events[]; .state == "counted"))] | length')" \
	2001 "2,000 at once: all counted" ||
	diag "$(json "$T/report.json" '.processes[0].coverage')"

# A person's view of it.
PMC_EVENTS=task-clock run agent "$PROG/crowd" 2000
lines=$(wc -l <"$T/err")
between "$lines" 10 40 "the table of 2,001 threads is one screen" || diag_file "$T/err" report
sed '/^ coverage/,$d' "$T/err" >"$T/table"
between "$(wc -L <"$T/table")" 20 100 "the table is no wider than 100 columns" || diag_file "$T/err" report
like "$(cat "$T/err")" 'crowd +2,000 ' "the threads are one pool, with its number" ||
	diag_file "$T/err" report

# Threads whose end meets the end of the process: all have a row, whoever was first.
for i in $(seq 30); do
	PMC_EVENTS=task-clock report "$PROG/last_ends" 30
	json "$T/report.json" '.threads[] | "\(.seq) \(.cpu_ns != null) \(.events[0].state)"'
done | sort | uniq -c | awk '{ print $1, $3, $4 }' | sort -u >"$T/last"
is "$(cat "$T/last")" "30 true counted" "threads that end as the process does: CPU time and counts of each"

done_testing
