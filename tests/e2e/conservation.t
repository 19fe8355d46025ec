#!/bin/bash
# SPDX-License-Identifier: MIT
# conservation.t - thread rows, unattributed and descendants add up to totals read from the kernel by
# other means; no count is lost or duplicate.
. "$(dirname "$0")/lib.sh"
export PMC_EVENTS=task-clock PMC_INHERIT=full

# measured CMD...: the report is $T/report.json; the parent's rusage and counter are in $T/ru.
measured() {
	rm -f "$T/report.pmc"
	run "$PROG/rusage" "$T/ru" env LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_OUT="$T/report.pmc" "$@"
	check_report "$@"
}

# Sums of task-clock. A null in unattributed or descendants is unknown and fails every comparison.
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

# Stolen time, which task-clock includes: all of it may be in one thread.
taken() {
	jq '.task_clock_ns - .cpu_ns | [., 0] | max' "$T/ru"
}
# adds_up NAME: compare rows + unattributed + descendants with two independent totals.
adds_up() {
	local sum
	sum=$(awk -v a="$(rows)" -v b="$(unattributed)" -v c="$(descendants)" \
		'BEGIN { printf "%.0f", a + b + c }')
	# In no row are the start of the process, before the agent, and its end: up to 15 ms on a slow
	# machine, and stolen time.
	between "$sum" "$(jq --argjson stolen "$(taken)" '.task_clock_ns * 0.97 - 15000000 - $stolen' "$T/ru")" \
		"$(jq '.task_clock_ns * 1.03' "$T/ru")" \
		"$1: rows, unattributed and descendants add up to the parent's task-clock" ||
		evidence
	# rusage excludes time stolen by a hypervisor, task-clock includes it: compare like with like.
	within "$(jq '[.processes[].coverage.cpu_ns] | add' "$T/report.json")" \
		"$(json "$T/ru" .cpu_ns)" 3 "$1: CPU time of the processes equals the rusage of wait4" || evidence
}
# burnt VALUE MS NAME: VALUE is task-clock of MS milliseconds of CPU time and of some 15 ms for the
# start and end of up to three programs.
burnt() {
	between "$1" $(($2 * 950000)) $(($(taken) + $2 * 1050000 + 15000000)) "$3"
}
# at_most VALUE MS NAME: VALUE is task-clock of a known part of the work, not counted elsewhere again.
at_most() {
	between "$1" 0 $(($(taken) + $2 * 1000000)) "$3"
}

measured "$PROG/rawclone" 200 400
burnt "$(unattributed)" 200 "raw clone: its 200 ms are in unattributed" || evidence
adds_up "raw clone"

measured "$PROG/spawn" "$PROG/burn_static" 300
burnt "$(descendants)" 300 "static child: its 300 ms are in descendants" ||
	evidence
at_most "$(unattributed)" 60 "static child: its 300 ms are not in unattributed" || evidence

measured "$PROG/spawn" "$PROG/spawn" "$PROG/spawn" "$PROG/burn_static" 300
burnt "$(descendants)" 300 "static great-grandchild: its 300 ms are in descendants once" || evidence
is "$(jq '[.processes[] | select((.descendants | length) > 0)] | length' "$T/report.json")" 1 \
	"only the first process of the job reports descendants" || evidence

measured "$PROG/faults" 4
adds_up "plain threads"
at_most "$(unattributed)" 5 "plain threads: at most 5 ms in unattributed" || evidence

measured "$PROG/tree" 3 200
is "$(json "$T/report.json" '[.threads[] | select(.name == "leaf")] | length')" 3 \
	"tree: each leaf has one row"
for n in $(json "$T/report.json" '.threads[] | select(.name == "leaf") | .cpu_ns'); do
	within "$n" 200000000 3 "tree: a leaf's own CPU time is its 200 ms"
done
for n in $(json "$T/report.json" '.threads[] | select(.name == "leaf") | .events[0].value'); do
	burnt "$n" 200 "tree: a leaf's count excludes other processes"
done
at_most "$(descendants)" 100 "tree: descendants do not count the leaves again" || evidence
adds_up "tree of three"

measured "$PROG/spawn" "$PROG/rawclone" 300 300
adds_up "raw clone in a child"
within "$(json "$T/report.json" '[.processes[].coverage | .cpu_ns, .descendants_cpu_ns // 0] | add')" \
	"$(json "$T/ru" .cpu_ns)" 3 "raw clone in a child: its CPU time is of its process or a descendant's, not both" || evidence

# Faults and switches of a child without an agent: libpmcagent(7) says which modes have them.
for mode in auto full; do
	PMC_EVENTS=page-faults,context-switches PMC_INHERIT=$mode measured "$PROG/spawn" "$PROG/burn_static" 50
	is "$(jq -c '.processes[] | select(.coverage.descendants_cpu_ns) | [.inherit_mode, (.coverage.descendants_cpu_ns > 40e6), ([.descendants[] | select(.value)] | length)]' "$T/report.json")" \
		"$([ $mode = full ] && echo '["full",true,2]' || echo '["off",true,0]')" \
		"PMC_INHERIT=$mode: what is known of a child without an agent" || evidence
	is "$(jq '.processes[0].minor_faults > 0' "$T/report.json")" true \
		"PMC_INHERIT=$mode: faults of the process itself are known" || evidence
done

# The same tree in each other mode of PMC_INHERIT.
for mode in clock off auto; do
	PMC_INHERIT=$mode measured "$PROG/tree" 3 50
	is "$(json "$T/report.json" '[.threads[] | select(.name == "leaf")] | length')" 3 \
		"PMC_INHERIT=$mode: each leaf has one row"
done
PMC_EVENTS=task-clock,cpu-migrations PMC_INHERIT=off measured "$PROG/rawclone" 100
is "$(jq -c '[.processes[0].unattributed[]? | [.name, .value != null]]' "$T/report.json")" \
	'[["task-clock",true],["cpu-migrations",false]]' \
	"PMC_INHERIT=off: what no perf event counted is null, not 0" || evidence
PMC_INHERIT=clock measured "$PROG/rawclone" 200 200
burnt "$(unattributed)" 200 "PMC_INHERIT=clock: 200 ms of a raw clone are in unattributed task-clock" || evidence

# The coverage summary: CPU time of the rows compared with the process clock.
measured "$PROG/faults" 4
is "$(json "$T/report.json" '.processes[0].coverage | .attributed_cpu_ns <= .cpu_ns * 1.001
	and .attributed_cpu_ns >= .cpu_ns * 0.98')" true \
		"coverage summary: attributed CPU time is 98 to 100 % of the process CPU clock" ||
	evidence

done_testing
