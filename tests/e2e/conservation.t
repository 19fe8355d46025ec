#!/bin/bash
# SPDX-License-Identifier: MIT
# conservation.t - rows and what they cannot see add up to what the kernel says by other means;
# no count is lost, none appears twice.
. "$(dirname "$0")/lib.sh"
export PMC_EVENTS=task-clock PMC_INHERIT=full

# measured CMD...: report in $T/report.json, the parent's knowledge in $T/ru.
measured() {
	rm -f "$T/report.json"
	run "$PROG/rusage" "$T/ru" env LD_PRELOAD="$AGENT" PMC_REPORT="json=$T/report.json" "$@"
	check_report "$@"
}

# Sums of task-clock; what is null in the remainders is unknown, which fails every comparison.
clock='[.[]? | select(.name == "task-clock") | .value]'
known='if length == 0 or any(. == null) then -1e15 else add end'
rows() { jq "[.threads[].events] | flatten | $clock | map(. // 0) | add" "$T/report.json"; }
unattributed() { jq "[.processes[].unattributed] | flatten | $clock | $known" "$T/report.json"; }
descendants() { jq "[.processes[].descendants] | flatten | $clock | $known" "$T/report.json"; }
evidence() {
	diag "rows $(rows) unattributed $(unattributed) descendants $(descendants)"
	diag "parent: $(tr -d '\n' <"$T/ru")"
	diag "$(jq -c '.processes[] | {pid, exe, coverage, unattributed, descendants, notes}' "$T/report.json")"
}

# adds_up NAME: rows + unattributed + descendants against two independent totals.
adds_up() {
	local sum
	sum=$(awk -v a="$(rows)" -v b="$(unattributed)" -v c="$(descendants)" \
		'BEGIN { printf "%.0f", a + b + c }')
	within "$sum" "$(json "$T/ru" .task_clock_ns)" 1 "$1: the sum is the test's own counter's" ||
		evidence
	# rusage leaves out what a hypervisor stole, task-clock does not: CPU clocks with CPU clocks.
	within "$(jq '[.processes[].coverage.cpu_ns] | add' "$T/report.json")" \
		"$(json "$T/ru" .cpu_ns)" 1 "$1: the processes' CPU time is wait4's rusage" || evidence
}
# burnt VALUE MS NAME: task-clock of MS burnt by the CPU clock, within 5 %, or more by what was
# stolen, which may all have come from one thread.
burnt() {
	between "$1" $(($2 * 950000)) \
		"$(jq ".task_clock_ns - .cpu_ns | [., 0] | max + $2 * 1050000" "$T/ru")" "$3"
}

measured "$PROG/rawclone" 200 400
burnt "$(unattributed)" 200 "raw clone: 200 ms are unattributed" || evidence
adds_up "raw clone"

measured "$PROG/spawn" "$PROG/burn_static" 300
burnt "$(descendants)" 300 "static child: its 300 ms are in descendants without agent" ||
	evidence
between "$(unattributed)" 0 6000000 "static child: nothing unattributed" || evidence

measured "$PROG/spawn" "$PROG/spawn" "$PROG/spawn" "$PROG/burn_static" 300
burnt "$(descendants)" 300 "static great-grandchild: 300 ms, once" || evidence
is "$(jq '[.processes[] | select((.descendants | length) > 0)] | length' "$T/report.json")" 1 \
	"only the job's first process speaks of descendants" || evidence

measured "$PROG/faults" 4
adds_up "plain threads"
between "$(unattributed)" 0 5000000 "plain threads: nothing unattributed" || evidence

measured "$PROG/tree" 3 200
is "$(json "$T/report.json" '[.threads[] | select(.name == "leaf")] | length')" 3 \
	"tree: each leaf has one row"
for n in $(json "$T/report.json" '.threads[] | select(.name == "leaf") | .cpu_ns'); do
	within "$n" 200000000 3 "tree: a leaf's own CPU time is its 200 ms"
done
# task-clock runs on while a hypervisor has the CPU: nearer than this only the sum can be held.
for n in $(json "$T/report.json" '.threads[] | select(.name == "leaf") | .events[0].value'); do
	between "$n" 195000000 300000000 "tree: a leaf's count excludes other processes"
done
between "$(descendants)" 0 12000000 "tree: nothing of the descendants is unexplained" || evidence
adds_up "tree of three"

measured "$PROG/spawn" "$PROG/rawclone" 300 300
adds_up "raw clone in a child"

# The same tree with counters off everywhere but on the clock, and with none.
for mode in clock off auto; do
	PMC_INHERIT=$mode measured "$PROG/tree" 3 50
	is "$(json "$T/report.json" '[.threads[] | select(.name == "leaf")] | length')" 3 \
		"PMC_INHERIT=$mode: each leaf has one row"
done
PMC_INHERIT=off measured "$PROG/rawclone" 100
is "$(jq '[.processes[0].unattributed[]? | select(.value != null)] | length' "$T/report.json")" 0 \
	"PMC_INHERIT=off: unattributed is unknown, not 0" || evidence
PMC_INHERIT=clock measured "$PROG/rawclone" 200 200
burnt "$(unattributed)" 200 "PMC_INHERIT=clock: raw clone shows in CPU time" || evidence

# The ledger's own check: CPU time of the rows against the process clock.
measured "$PROG/faults" 4
is "$(json "$T/report.json" '.processes[0].coverage | .attributed_cpu_ns <= .cpu_ns * 1.001
	and .attributed_cpu_ns >= .cpu_ns * 0.98')" true "the rows explain the process's CPU clock" ||
	evidence

done_testing
