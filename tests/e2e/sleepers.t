#!/bin/bash
# SPDX-License-Identifier: MIT
# sleepers.t - a snapshot has a row of a thread if and only if the thread has run since the last
# snapshot, even while its counters were stopped. The test program prints the CPU time of its worker.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
mkfifo in

# Each line of stdin makes the worker use 30 ms of CPU. Main then prints the worker's CPU time in ns, read
# when the worker is asleep in sem_wait.
cat >worker.c <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static sem_t go, done;
static pthread_t thread;
static volatile pid_t worker;
static long long cpu(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void *work(void *arg)
{
	worker = gettid();
	for (;;) {
		long long end;
		while (sem_wait(&go))
			;
		end = cpu(CLOCK_THREAD_CPUTIME_ID) + 30000000;
		while (cpu(CLOCK_THREAD_CPUTIME_ID) < end)
			;
		sem_post(&done);
	}
	return arg;
}
/* The CPU clock of the worker, read when it sleeps. */
static long long asleep(void)
{
	clockid_t clock;
	char path[64], name[64], state = 0;
	pthread_getcpuclockid(thread, &clock);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", worker);
	while (state != 'S') {
		FILE *file = fopen(path, "r");
		if (!file || fscanf(file, "%*d (%63[^)]) %c", name, &state) != 2)
			return -1;
		fclose(file);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return cpu(clock);
}
int main(void)
{
	char line[64];
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, work, NULL);
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		sem_post(&go);
		while (sem_wait(&done))
			;
		printf("done %lld\n", asleep());
	}
	return 0;
}
END
gcc -O1 -D_GNU_SOURCE -pthread -o worker worker.c || exit 1

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

# shot: take one more snapshot, by a handler in main; set $cpu and $clock to the worker's CPU time and
# task-clock.
rows() { "$PMCTL" report --timeline --format json out.pmc 2>/dev/null | grep -c '"seq":'"$1,"; }
more() { [ "$(rows 0)" -gt "$before" ]; }
shot() {
	before=$(rows 0)
	kill -USR2 $pid
	await more || fail "SIGUSR2 writes a snapshot"
	read -r cpu clock < <("$PMCTL" report --format json out.pmc | jq -r \
		'.threads[] | select(.seq == 1) | "\(.cpu_ns) \(.events[0].value)"')
}

# slept: the worker's CPU time when it last fell asleep.
slept() { awk '/^done/ { ns = $2 } END { print ns }' log; }

work
shot
is "$cpu" "$(slept)" "after work: the snapshot has the current CPU time"
first_clock=$clock
first_rows=$(rows 1)
shot
is "$cpu $clock" "$(slept) $first_clock" "asleep since the last snapshot: same CPU time and count"
is "$(rows 1)" "$first_rows" "asleep since the last snapshot: it has no row of the thread"
work
shot
is "$cpu" "$(slept)" "after more work: the snapshot has the new CPU time"
# No upper bound: task-clock also counts during context switches.
ok "after more work: task-clock has advanced by at least 28 ms" test "$clock" -ge $((first_clock + 28000000))
second=$cpu second_clock=$clock
shot
"$PMCTL" ctl $pid stop >/dev/null
work
"$PMCTL" ctl $pid start >/dev/null
shot
ok "work while counters were stopped: CPU time has advanced by less than 5 ms" test $((cpu - second)) -lt 5000000
ok "work while counters were stopped: so has task-clock" test $((clock - second_clock)) -lt 5000000
work
"$PMCTL" ctl $pid start >/dev/null
shot
ok "work after that: CPU time has advanced by at least 30 ms" test $((cpu - second)) -ge 30000000
exec 9>&-
wait $pid
is $? 0 "the program exits with status 0"
done_testing
