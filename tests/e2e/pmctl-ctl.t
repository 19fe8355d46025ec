#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl ctl: start, stop and reset apply to all current and future threads and change nothing else.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
mkfifo in

# Each line of stdin starts a thread that uses 30 ms of CPU, has 2,000 page faults and then waits; if it is "main", main
# does that itself. Main then prints "done". What a clock counts depends on the machine: a hypervisor's share is in
# task-clock.
cat >step.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static pthread_barrier_t worked;
static long cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}
static void burn(void)
{
	const long begin = cpu_ns();
	const long page = sysconf(_SC_PAGESIZE);
	volatile char *pages = mmap(NULL, 2000 * page, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)pages, 2000 * page, MADV_NOHUGEPAGE);
	for (long i = 0; i < 2000; i++)
		pages[i * page] = 1;
	while (cpu_ns() - begin < 30000000)
		for (volatile int i = 0; i < 100000; i++)
			;
}
static void *work(void *arg) { burn(); pthread_barrier_wait(&worked); pause(); return arg; }
int main(void)
{
	char line[64];
	pthread_barrier_init(&worked, NULL, 2);
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		pthread_t thread;
		if (strcmp(line, "main\n") == 0) {
			burn();
		} else {
			pthread_create(&thread, NULL, work, NULL);
			pthread_barrier_wait(&worked);
		}
		puts("done");
	}
	return 0;
}
END
gcc -O1 -D_GNU_SOURCE -pthread -o step step.c || exit 1

start() {
	LD_PRELOAD=$AGENT exec "$@"
}

target() {
	: >log
	start ./step <in >log 2>target.err &
	pid=$!
	exec 9>in
	await grep -q ready log
}

# step [main]: start one more thread, or use main, and wait until it has used its CPU time.
n_steps=0
answered() { [ "$(grep -c done log)" -ge "$1" ]; }
step() {
	local before
	before=$(grep -c done log)
	echo "${1:-go}" >&9
	await answered $((before + 1))
}

ctl() {
	run "$PMCTL" ctl "$pid" "$1"
}

# counts: the page faults of each thread in start order: much, some, little, or - if not counted.
look() {
	rm -f now.pmc
	"$PMCTL" dump "$pid" -o now.pmc >/dev/null && "$PMCTL" report --format json now.pmc >now.json
}
counts() {
	look
	jq -r '[.threads | sort_by(.seq)[] | .events[0] | if .value == null then "-"
		elif .value >= 2000 then "much" elif .value < 1000 then "little" else "some" end] |
		join(" ")' now.json
}

export PMC_EVENTS=page-faults,task-clock PMC_REPORT=off PMC_INHERIT=full

# ---- PMC_START=off -----------------------------------------------------------------------
PMC_OUT=$T/off.pmc PMC_START=off target
step
is "$(counts)" "- -" "PMC_START=off: event values are null, not 0"
is "$(json now.json '[.threads[].cpu_ns] | unique | tostring')" '[null]' "PMC_START=off: CPU time is null too"
ctl start
is "$status $(cat "$T/out")" "0 process $pid: counters started in 2 threads" "ctl start prints how many threads it started counters in"
step
like "$(counts)" "^(little|-) (little|-) much$" "after ctl start existing and new threads count"
ctl stop
is "$status $(cat "$T/out")" "0 process $pid: counters stopped in 3 threads" "ctl stop prints how many threads it stopped counters in"
is "$("$PMCTL" ctl status "$pid")" "$("$PMCTL" ctl "$pid" status)" "the action may be the first word"
step
like "$(counts)" "^(little|-) (little|-) much -$" "after ctl stop a new thread is not counted and earlier counts are kept"
ctl start
step
like "$(counts)" "^(little|-) (little|-) much (little|-) much$" "after a second ctl start a new thread counts"
finish
is "$status" 0 "after start and stop the program exits with status 0"
"$PMCTL" report --format json off.pmc >off.json
like "$(json off.json '[.threads | sort_by(.seq)[] | .events[0].value // 0 | . >= 2000] | tostring')" \
	"false,false,true,false,true" "the rows written at exit have the same counts"
is "$(json off.json '.processes[0].unattributed[0] | "\(.state) \(.value | type) \(.value < 1000)"')" "counted number true" \
	"the inherit group was stopped and started too: unattributed page faults stay below 1,000"

# ---- reset -------------------------------------------------------------------------------
PMC_OUT=$T/reset.pmc target
step
step
is "$(counts | cut -d' ' -f2-)" "much much" "before ctl reset both threads have counts"
ctl reset
is "$status $(cat "$T/out")" "0 process $pid: counters reset to 0 in 3 threads" "ctl reset prints how many threads it reset"
is "$(counts | cut -d' ' -f2-)" "little little" "after ctl reset all counts are near 0"
is "$(json now.json '[.threads[].events[1] | .enabled_ns <= .value + 1 and
	.running_ns == .enabled_ns and .state == "counted"] | "\(length) \(all)"')" "3 true" \
	"ctl reset also resets enabled and running times"
ok "ctl reset also resets CPU time" jq -e '[.threads[].cpu_ns] | all(. < 20000000)' now.json
step
is "$(counts | cut -d' ' -f2-)" "little little much" "after ctl reset a new thread counts"
ctl reset
ctl reset
is "$(counts | cut -d' ' -f2-)" "little little little" "two resets in a row leave all counts near 0"
is "$(json now.json '.processes[0].unattributed[0] | "\(.state) \(.value | type) \(.value < 1000)"')" "counted number true" \
	"counts removed by ctl reset do not become unattributed"
finish
"$PMCTL" report --format json reset.pmc >reset.json
# In jq null is less than any number.
is "$(json reset.json '[.threads[].events[0].value | numbers | . < 1000] | "\(length) \(all)"')" "4 true" \
	"the rows written at exit count from the last reset"

# ---- ctl while threads start and end -----------------------------------------------------
PMC_OUT=$T/churn.pmc start "$PROG/churn" 3000 8 >/dev/null 2>&1 &
pid=$!
has_agent() { "$PMCTL" ctl "$pid" start; }
await has_agent
n=0
while kill -0 "$pid" 2>/dev/null && [ $n -lt 60 ]; do
	for what in stop reset start; do "$PMCTL" ctl "$pid" $what >/dev/null 2>&1; done
	"$PMCTL" dump "$pid" >/dev/null 2>&1
	n=$((n + 1))
done
wait "$pid"
is "$?" 0 "ctl during thread churn: the program exits with status 0"
"$PMCTL" report --format json churn.pmc >churn.json 2>"$T/err"
is "$(json churn.json '[.threads[] | select(.seq < 10000000)] | length')" 3001 "ctl during thread churn: every thread has a row" ||
	diag "$(cat "$T/err")"
# Differences below 0 must not wrap around. Threads born while counting is off have no value.
ok "ctl during thread churn: no task-clock exceeds ten minutes" jq -e '[.threads[].events[1].value | numbers] |
	length > 100 and all(. < 600000000000)' churn.json

# ---- the process ID of pmctl run -----------------------------------------------------------------
: >log
PMC_OUT=$T/run.pmc "$PMCTL" run -- ./step <in >log 2>target.err &
pid=$!
exec 9>in
await grep -q ready log
child=$(pgrep -P "$pid" -x step)
ctl stop
is "$status $(cat "$T/out")" "0 process $child: counters stopped in 1 thread" "given the ID of a pmctl run, pmctl ctl acts on its child"
like "$(cat "$T/err")" "process $pid is pmctl run.* $child" "pmctl ctl names the child on stderr"
run "$PMCTL" dump "$pid" -o run-child.pmc
is "$status $("$PMCTL" report --format json run-child.pmc | jq .processes[0].pid)" "0 $child" "given the ID of a pmctl run, pmctl dump writes its child"
like "$(cat "$T/err")" "process $pid is pmctl run.* $child" "pmctl dump names the child on stderr"
finish
is "$status" 0 "pmctl run exits with the status of the command"
early=
for i in {1..10}; do
	"$PMCTL" run --report off -o early.pmc -- sleep 1000 2>/dev/null &
	pid=$!
	"$PMCTL" dump "$pid" -o early-dump.pmc >/dev/null 2>early.err || early+=$(cat early.err)
	kill "$pid"
	wait "$pid"
done
is "$early" "" "pmctl dump waits for a pmctl run that has just started"
cp "$PROG/waiters" pmctl
: >log
./pmctl 1 <in >log &
pid=$!
exec 9>in
await grep -q ready log
ctl stop
like "$status $(cat "$T/err")" "^1 .*no agent in process $pid" "a different program named pmctl is not taken for pmctl run"
finish

# ---- samples -----------------------------------------------------------------------------
# A thread while counting is off, on, off, and on again.
rm -f samples.pmc
PMC_START=off PMC_SAMPLE=task-clock@1000000 PMC_REPORT=off PMC_OUT=$T/samples.pmc target
step
for action in start stop start; do
	ctl $action
	step
done
finish
is "$(python3 "$ROOT/tests/e2e/samples.py" samples.pmc total | jq -s -c 'sort_by(.seq) | map(select(.seq > 0).samples > 0)')" \
	"[false,true,false,true]" "samples are taken while counting is on"

# sampled FILE: of each thread in start order, whether it has samples: all of them listed, and each of 1 ms that
# its event has counted. Without samples the event has counted next to nothing.
sampled() {
	python3 "$ROOT/tests/e2e/samples.py" "$1" total | jq -s -c 'sort_by(.seq) | map(
		if .listed != .samples or .weight > .value + 1000000 then "wrong"
		elif .samples > 0 then true
		elif .value < 10000000 and .cut == 0 then false else .value end)'
}
sampled_now() {
	rm -f now.pmc
	"$PMCTL" dump "$pid" -o now.pmc >/dev/null
	sampled now.pmc
}
for events in page-faults ''; do
	rm -f samples.pmc
	PMC_EVENTS=${events:-software/config=98/} PMC_SAMPLE=task-clock@1000000 PMC_DUMP=USR2 PMC_OUT=$T/samples.pmc target
	step main
	step
	is "$(sampled_now)" "[true,true]" "before ctl reset there are samples"
	ctl reset
	is "$status" 0 "ctl reset of a process that samples: exit status 0"
	like "$(cat "$T/out")" "^process $pid: .*samples reset to 0 in 2 threads$" "it says that samples are reset"
	is "$(sampled_now)" "[false,false]" "after ctl reset there is none"
	"$PMCTL" dump --signal "$pid" >/dev/null
	like "$(sampled samples.pmc)" "^\[(true|false),false\]$" "nor in a snapshot that the process takes of a thread that waits"
	step main
	step
	is "$(sampled_now)" "[true,false,true]" "threads that run on and new ones have samples again"
	ctl reset
	step
	like "$(sampled_now)" "^\[(true|false),false,false,true\]$" "after a second ctl reset there is none of before"
	finish
	like "$(sampled samples.pmc)" "^\[(true|false),false,false,true\]$" "nor at the end"
done

# ---- refusals ----------------------------------------------------------------------------
refused() { refuses "${@:1:3}" ctl "${@:4}"; }
refused 2 "process ID and an action" "no arguments"
refused 2 "process ID and an action" "a process ID without an action" 1
refused 2 "process ID 'x'" "an invalid process ID" x start
refused 2 "did you mean 'start'" "a mistyped action" $$ strat
refused 2 "'--now'" "an unknown flag" $$ --now
refused 1 "no agent in process $$" "a process without the agent" $$ stop
refused 1 "no such process: 4194300" "a process ID not in use" 4194300 stop
refused 1 "no such process: $pid" "a process that has ended" "$pid" stop
# No kernel has such events, whatever the PMU.
PMC_EVENTS=software/config=98/,software/config=99/ target
ctl stop
is "$status $(cat "$T/out")" "0 process $pid: CPU time, faults and switches stopped in 1 thread; no perf event is counted" \
	"ctl switches the accounting of a process without counters"
finish

done_testing
