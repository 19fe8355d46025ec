#!/bin/bash
# SPDX-License-Identifier: MIT
# pmctl ctl: start, stop and reset act on every thread, those to come too, and on nothing else.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
mkfifo in

# A thread per line of stdin works a while and waits; main answers each line when that is done.
cat >step.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static pthread_barrier_t worked;
static void burn(void)
{
	struct timespec t;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 30000000);
}
static void *work(void *arg) { burn(); pthread_barrier_wait(&worked); pause(); return arg; }
int main(void)
{
	char line[64];
	pthread_barrier_init(&worked, NULL, 2);
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, NULL);
		pthread_barrier_wait(&worked);
		puts("done");
	}
	return 0;
}
END
gcc -O1 -pthread -o step step.c || exit 1

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

finish() {
	exec 9>&-
	wait "$pid"
	status=$?
}

# step: one more thread, until it waits.
n_steps=0
answered() { [ "$(grep -c done log)" -ge "$1" ]; }
step() {
	local before
	before=$(grep -c done log)
	echo go >&9
	await answered $((before + 1))
}

ctl() {
	run "$PMCTL" ctl "$pid" "$1"
}

# clocks: the task-clock of each thread in start order, in ms; - where it was not counted.
look() {
	rm -f now.pmc
	"$PMCTL" dump "$pid" -o now.pmc >/dev/null && "$PMCTL" report --format json now.pmc >now.json
}
clocks() {
	look
	jq -r '[.threads | sort_by(.seq)[] | .events[0] | if .value == null then "-"
		elif .value > 20000000 then "much" elif .value < 10000000 then "little" else "some" end] |
		join(" ")' now.json
}

export PMC_EVENTS=task-clock PMC_REPORT=off PMC_INHERIT=full

# ---- PMC_START=off -----------------------------------------------------------------------
PMC_OUT=$T/off.pmc PMC_START=off target
step
is "$(clocks)" "- -" "PMC_START=off: nothing is counted, and that is not 0"
is "$(json now.json '[.threads[1].cpu_ns > 20000000]|tostring')" "[true]" "CPU time is, all the same"
ctl start
is "$status $(cat "$T/out")" "0 process $pid: counters started in 2 threads" "start says what it did"
step
like "$(clocks)" "^(little|-) (little|-) much$" "from then on threads count, those to come too"
ctl stop
is "$status $(cat "$T/out")" "0 process $pid: counters stopped in 3 threads" "stop says what it did"
step
like "$(clocks)" "^(little|-) (little|-) much -$" "a thread that starts now does not count; what was counted stays"
ctl start
step
like "$(clocks)" "^(little|-) (little|-) much (little|-) much$" "started again"
finish
is "$status" 0 "the program ends as it would have"
"$PMCTL" report --format json off.pmc >off.json
like "$(json off.json '[.threads | sort_by(.seq)[] | .events[0].value // 0 | . > 20000000] | tostring')" \
	"false,false,true,false,true" "the exit rows say the same"
is "$(json off.json '.processes[0].unattributed[0] | "\(.state) \(.value | type) \(.value < 10000000)"')" "counted number true" \
	"the thread group was switched with them: nothing is unattributed"

# ---- reset -------------------------------------------------------------------------------
PMC_OUT=$T/reset.pmc target
step
step
is "$(clocks | cut -d' ' -f2-)" "much much" "before the reset"
ctl reset
is "$status $(cat "$T/out")" "0 process $pid: counters reset to 0 in 3 threads" "reset says what it did"
is "$(clocks | cut -d' ' -f2-)" "little little" "after it"
is "$(json now.json '[.threads[].events[0] | .enabled_ns > 0 and .enabled_ns <= .value + 1 and
	.running_ns == .enabled_ns and .state == "counted"] | "\(length) \(all)"')" "3 true" \
	"the times begin at 0 too"
ok "CPU time goes on" jq -e '[.threads[] | select(.seq > 0) | .cpu_ns] | all(. > 20000000)' now.json
step
is "$(clocks | cut -d' ' -f2-)" "little little much" "it goes on counting"
ctl reset
ctl reset
is "$(clocks | cut -d' ' -f2-)" "little little little" "twice is as good as once"
is "$(json now.json '.processes[0].unattributed[0] | "\(.state) \(.value | type) \(.value < 10000000)"')" "counted number true" \
	"nothing of it becomes unattributed"
finish
"$PMCTL" report --format json reset.pmc >reset.json
# In jq null is less than any number.
is "$(json reset.json '[.threads[].events[0].value | numbers | . < 20000000] | "\(length) \(all)"')" "4 true" \
	"the exit rows begin there"

# ---- threads come and go while it is switched ---------------------------------------------
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
is "$?" 0 "switching under thread churn: the program ends well"
"$PMCTL" report --format json churn.pmc >churn.json 2>"$T/err"
is "$(json churn.json '[.threads[] | select(.seq < 10000000)] | length')" 3001 "every thread has its row" ||
	diag "$(cat "$T/err")"
# Differences below 0 must not wrap around. Threads born while counting is off have no value.
ok "no value is above a minute" jq -e '[.threads[].events[0].value | numbers] |
	length > 100 and all(. < 60000000000)' churn.json

# ---- the ID of pmctl run -------------------------------------------------------------------
: >log
PMC_OUT=$T/run.pmc "$PMCTL" run -- ./step <in >log 2>target.err &
pid=$!
exec 9>in
await grep -q ready log
child=$(pgrep -P "$pid" -x step)
ctl stop
is "$status $(cat "$T/out")" "0 process $child: counters stopped in 1 thread" "pmctl run: acts on its child"
like "$(cat "$T/err")" "process $pid is pmctl run.* $child" "and says so"
run "$PMCTL" dump "$pid" -o run-child.pmc
is "$status $("$PMCTL" report --format json run-child.pmc | jq .processes[0].pid)" "0 $child" "so does dump"
like "$(cat "$T/err")" "process $pid is pmctl run.* $child" "which says so too"
finish
is "$status" 0 "pmctl run ends as it would have"
early=
for i in {1..10}; do
	"$PMCTL" run --report off -o early.pmc -- sleep 2 2>/dev/null &
	pid=$!
	"$PMCTL" dump "$pid" -o early-dump.pmc >/dev/null 2>early.err || early+=$(cat early.err)
	kill "$pid"
	wait "$pid"
done
is "$early" "" "dump waits for a pmctl run that has just started"
cp "$PROG/waiters" pmctl
: >log
./pmctl 1 <in >log &
pid=$!
exec 9>in
await grep -q ready log
ctl stop
like "$status $(cat "$T/err")" "^1 .*no agent in process $pid" "another program of that name is no pmctl run"
finish

# ---- refusals ----------------------------------------------------------------------------
refused() { # STATUS PATTERN NAME ARGS...
	local want=$1 pattern=$2 name=$3
	shift 3
	run "$PMCTL" ctl "$@"
	is "$status" "$want" "$name: $want"
	like "$(cat "$T/err")" "$pattern" "$name: why"
	is "$(wc -l <"$T/err")/$(cat "$T/out")" 1/ "$name: in one line"
}
refused 2 "process ID and an action" "nothing"
refused 2 "process ID and an action" "a pid alone" 1
refused 2 "process ID 'x'" "a pid that is none" x start
refused 2 "did you mean 'start'" "a mistyped action" $$ strat
refused 2 "'--now'" "a flag" $$ --now
refused 1 "no agent in process $$" "a program without agent" $$ stop
refused 1 "no such process: 4194300" "a pid that is not there" 4194300 stop
refused 1 "no such process: $pid" "a program that has ended" "$pid" stop
# No kernel has such events, whatever the PMU.
PMC_EVENTS=software/config=98/,software/config=99/ target
refused 1 "no counters to switch: process $pid" "nothing to switch" "$pid" stop
finish

done_testing
