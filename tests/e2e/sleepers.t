#!/bin/bash
# SPDX-License-Identifier: MIT
# sleepers.t - a snapshot does not ask again for the CPU clock of a thread that has not run since the
# last one; and does of one that has, also while its counters were stopped.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
mkfifo in

# A line of stdin is 30 ms of work for the worker; main answers when it sleeps again.
cat >worker.c <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
static sem_t go, done;
static long ms;
static void *work(void *arg)
{
	for (;;) {
		struct timespec t;
		while (sem_wait(&go))
			;
		ms += 30;
		do
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
		sem_post(&done);
	}
	return arg;
}
int main(void)
{
	char line[64];
	pthread_t thread;
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, work, NULL);
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		sem_post(&go);
		while (sem_wait(&done))
			;
		puts("done");
	}
	return 0;
}
END
gcc -O1 -pthread -o worker worker.c || exit 1

LD_PRELOAD=$AGENT PMC_EVENTS=task-clock PMC_DUMP=USR2 PMC_OUT="$T/out.pmc" PMC_REPORT=off \
	./worker <in >log 2>err &
pid=$!
exec 9>in
await grep -q ready log

n_done=0
work() {
	echo go >&9
	n_done=$((n_done + 1))
	await answered
}
answered() { [ "$(grep -c done log)" -ge $n_done ]; }

# shot: one snapshot more; the worker's CPU time and task-clock are then in $cpu and $clock.
rows() { "$PMCTL" report --timeline --format json out.pmc 2>/dev/null | grep -c '"seq":1,'; }
more() { [ "$(rows)" -gt "$before" ]; }
shot() {
	before=$(rows)
	kill -USR2 $pid
	await more || fail "a snapshot after SIGUSR2"
	read -r cpu clock < <("$PMCTL" report --format json out.pmc | jq -r \
		'.threads[] | select(.seq == 1) | "\(.cpu_ns) \(.events[0].value)"')
}

work
shot
between "$cpu" 30000000 45000000 "30 ms of work are seen"
first=$cpu first_clock=$clock
shot
is "$cpu $clock" "$first $first_clock" "asleep: the same CPU time and count once more"
work
shot
between $((cpu - first)) 28000000 45000000 "30 ms more of work are seen"
second=$cpu second_clock=$clock
shot
"$PMCTL" ctl $pid stop >/dev/null
work
"$PMCTL" ctl $pid start >/dev/null
shot
between $((cpu - second)) 28000000 45000000 "so are 30 ms that were worked while the counters were stopped"
between $((clock - second_clock)) 0 5000000 "which the counters did not see"
exec 9>&-
wait $pid
is $? 0 "the program ends well"
done_testing
