#!/bin/bash
# SPDX-License-Identifier: MIT
# permission.t - where counting is restricted or forbidden: the host runs, the report gives the reason.
. "$(dirname "$0")/lib.sh"

# nobody needs to reach the files.
cp "$AGENT" "$PMCTL" "$PROG/churn" "$PROG/crowd" "$PROG/seccomp" "$T/"
AGENT=$T/libpmcagent.so
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)

if [ "$paranoid" = 2 ]; then
	mkdir -m 777 "$T/nobody"
	run as_nobody env LD_PRELOAD="$AGENT" PMC_EVENTS='{task-clock,page-faults}' \
		PMC_REPORT=off PMC_OUT="$T/nobody/r.pmc" "$T/churn" 20 20000
	"$PMCTL" report --format json "$T/nobody/r.pmc" >"$T/nobody/r.json"
	is "$status $(cat "$T/out")" "0 joined 20" "nobody: the host exits with 0"
	is "$(json "$T/nobody/r.json" '[.threads[] | select([.events[] | .name + " " + .scope +
		" " + .state] == ["task-clock all counted", "page-faults user counted"])] | length')" 21 \
		"nobody at paranoid 2: page faults in user mode only, marked as such; task-clock counts all" ||
		diag "$(json "$T/nobody/r.json" '.threads[0]')"
	is "$(json "$T/nobody/r.json" '.threads[0].events[0].name')" task-clock \
		"nobody: the event keeps its name"
	run as_nobody env LD_PRELOAD="$AGENT" PMC_EVENTS='{task-clock,page-faults}' "$T/churn" 20 20000
	like "$(cat "$T/err")" 'page-faults:u' "nobody: the table marks user mode only"
	run as_nobody env LD_PRELOAD="$AGENT" PMC_EVENTS=page-faults:k \
		PMC_REPORT=off PMC_OUT="$T/nobody/k.pmc" "$T/churn" 3 20000
	"$PMCTL" report --format json "$T/nobody/k.pmc" >"$T/nobody/k.json"
	is "$(json "$T/nobody/k.json" '[.threads[].events[] | select(.state == "not-permitted" and
		.value == null)] | length')" 4 "nobody: a kernel-only event is not permitted, not 0"
else
	skip "perf_event_paranoid is $paranoid, not 2" "nobody: user only"
fi

for how in errno kill; do
	for events in default '{task-clock,page-faults}'; do
		r=$T/$how.json
		rm -f "$T/r.pmc"
		set --
		[ $events = default ] || set -- "PMC_EVENTS=$events"
		run "$T/seccomp" $how env LD_PRELOAD="$AGENT" PMC_REPORT=off PMC_OUT="$T/r.pmc" "$@" "$T/churn" 10 20000
		"$PMCTL" report --format json "$T/r.pmc" >"$r"
		is "$status $(cat "$T/out") $(cat "$T/err")" "0 joined 10 " \
			"seccomp $how, $events events: the host exits normally"
		is "$(json "$r" '[.threads[] | select(.cpu_ns > 0)] | length')" 11 \
			"seccomp $how, $events events: OS accounting of every thread"
		is "$(json "$r" '[.threads[].events[] | select(.value != null)] | length')" 0 \
			"seccomp $how, $events events: no event has a value"
		is "$(json "$r" '[.processes[].notes[]] | length')" 1 \
			"seccomp $how, $events events: one note" || diag "$(json "$r" '.processes[].notes')"
	done
	run "$T/seccomp" $how env LD_PRELOAD="$AGENT" PMC_EVENTS=task-clock "$T/churn" 10 20000
	like "$(cat "$T/err")" 'pmcagent: ' "seccomp $how: the table is printed" ||
		diag_file "$T/err" stderr

	# A program that installs the filter itself: events of the plan can no longer be opened.
	PMC_EVENTS=task-clock report "$T/seccomp" $how "$T/churn" 10 20000
	is "$status $(cat "$T/out")" "0 joined 10" "seccomp $how after the agent started: the host exits normally"
	is "$(json "$T/report.json" '[.threads[] | select(.cpu_ns > 0 and .name == "churn")] | length')" 11 \
		"seccomp $how after the agent started: every thread has OS accounting"
done

# A filter installed before an exec: fcntl on the dump's descriptor kills, so the agent must identify it
# by fstat.
rm -f "$T/filter.pmc"
PMC_EVENTS=task-clock PMC_REPORT=off PMC_OUT="$T/filter.pmc" \
	run env LD_PRELOAD="$AGENT" "$T/seccomp" signal "$T/churn" 10 20000
is "$status $(cat "$T/out")" "0 joined 10" "a filter that kills for signals of descriptors: the host exits normally"
is "$("$PMCTL" report --format json "$T/filter.pmc" |
	jq '[.threads[] | select(.cpu_ns > 0 and .name == "churn")] | length')" 11 \
	"a filter that kills for signals of descriptors: every row is in the dump"

# Allowlists of programs with one thread may lack exit(2), by which the agent's throwaway clones end.
PMC_EVENTS=task-clock report "$T/seccomp" exit "$T/churn" 0
is "$status $(cat "$T/out")" "0 joined 0" "exit(2) refused: the host exits normally"
is "$(json "$T/report.json" '[.threads[] | select(.cpu_ns > 0)] | length')" 2 \
	"exit(2) refused: a row before and after the exec"
run "$T/seccomp" exit env LD_PRELOAD="$AGENT" PMC_REPORT=off "$T/churn" 0
is "$status $(cat "$T/out") $(cat "$T/err")" "0 joined 0 " "exit(2) refused before the agent starts: the host exits normally"

# The filter is installed in all threads while threads start; then threads start under it.
PMC_EVENTS=task-clock PMC_REPORT=off run env LD_PRELOAD="$AGENT" "$PROG/latefilter" 100
is "$(cat "$T/out")" "0 died" "a filter that kills, installed in all threads: no host is killed"
# Threads are also in the agent's work at their start and end when the filter comes.
for set in PMC_EVENTS=task-clock PMC_EVENTS=task-clock:u,page-faults:u PMC_SAMPLE=task-clock/997; do
	run env LD_PRELOAD="$AGENT" $set PMC_REPORT=off PMC_OUT="$T/late.pmc" "$PROG/latefilter" 300 busy
	is "$(cat "$T/out")" "0 died" "while others create threads, $set: no host is killed"
done

# As without a PMU: the default events get a config that no kernel has. The report omits their columns
# and gives the reason in one line.
PMC_EVENTS=$(printf 'software/config=99,name=%s/,' cycles instructions cache-references \
	cache-misses branches branch-misses)
export PMC_EVENTS=${PMC_EVENTS%,}
report "$T/churn" 10 20000
is "$(json "$T/report.json" '[.threads[].events[] | select(.state == "counted")] | length')" 0 \
	"no PMU: no default event is counted"
is "$(json "$T/report.json" '[.threads[].events[].name] | unique | length')" 6 \
	"no PMU: the six default events each have a reason"
"$PMCTL" report "$T/report.pmc" >"$T/err"
table=$(cat "$T/err")
unlike "$(grep -m1 'tid' "$T/err")" 'cycles|instr|IPC' "no PMU: no hardware columns"
is "$(grep -c 'pmctl doctor' "$T/err")" 1 "no PMU: one line gives the reason and names pmctl doctor" ||
	diag_file "$T/err" report
like "$table" 'churn .*[0-9]' "no PMU: the table has rows"
like "$table" 'coverage' "no PMU: the table has a coverage summary"
like "$(grep -m1 'tid' "$T/err")" 'cpu.*faults' "no PMU: the table has CPU time, switches and faults"
unset PMC_EVENTS

# A server that gives up root: threads started later count user mode only, earlier ones both modes.
cat >"$T/drop.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *work(void *arg)
{
	for (volatile long i = 0; i < 20000000; i++)
		;
	return arg;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	if (setuid(65534))
		return 1;
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	return 0;
}
END
cc -O1 -o "$T/drop" "$T/drop.c" -pthread
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
	PMC_EVENTS='{page-faults},{context-switches},{task-clock}' PMC_REPORT=off PMC_OUT=$T/drop.pmc run agent "$T/drop"
	is "$status" 0 "privilege dropped: the host exits with 0"
	is "$("$O/pmctl" report --format json "$T/drop.pmc" |
		jq -r '.threads[] | select(.seq > 0) | [.events[] | if .value == null then .state else .scope end] |
		join(" ")')" $'all all all\nuser not-permitted all' \
		"later threads count user mode, marked as such; context-switches are not 0 but null"
else
	skip "needs root and perf_event_paranoid 2 or more" "a drop of privilege"
fi

done_testing
