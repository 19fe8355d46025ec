#!/bin/bash
# SPDX-License-Identifier: MIT
# CPU time of child processes that the agent did not see, or not from their start: it is in the
# coverage summary, with events and without.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
export PMC_REPORT=off

# child EVENTS KIND END: run.json, and the table.
child() {
	rm -f run.pmc
	PMC_EVENTS=$1 PMC_OUT=$T/run.pmc run agent "$PROG/children" "$2" "$3"
	"$PMCTL" report --format json run.pmc >run.json
	"$PMCTL" report run.pmc >table
}
# tenths FILTER: a CPU time, in tenths of the child's 200 ms.
tenths() { json run.json "$1 / 20000000 | floor"; }

for events in task-clock software/config=98/; do
	for how in "fork kill" "_Fork raw" "clone raw" "clone kill" "vfork raw" "vfork exit"; do
		child $events $how
		between "$(tenths '.processes[0].coverage.descendants_cpu_ns')" 9 11 \
			"$how, $events: the first process has its CPU time" || diag_file run.json run.json
		like "$(cat table)" "coverage [0-9]\.[0-9] %" "$how, $events: coverage is below 10 %"
		like "$(tr -s '\n ' ' ' <table)" "CPU of child processes is in no thread" "$how, $events: a line says so"
	done
	for how in "_Fork exit" "clone exit"; do
		child $events $how
		is "$(json run.json '[.threads[] | select(.pid != .tid or .cpu_ns < 20000000)] | length')" 2 \
			"$how, $events: the child's row has no CPU time from before its first call into the agent"
		between "$(tenths '[.processes[].coverage | .cpu_ns - .attributed_cpu_ns] | max')" 9 11 \
			"$how, $events: the CPU time before is in the coverage of its process"
		like "$(cat table)" "created without fork" "$how, $events: a note says where the row starts"
	done
	child $events fork exit
	like "$(cat table)" "coverage (9[0-9]|100)" "fork exit, $events: coverage is above 90 %"
	between "$(tenths '[.threads[].cpu_ns] | max')" 9 11 "fork exit, $events: the child's row has its CPU time"
done

done_testing
