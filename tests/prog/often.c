/* SPDX-License-Identifier: MIT */
/*
 * often.c - a thread that waits as often as it can, in known places.
 *
 * Two threads on one CPU pass a byte to and fro for the given number of seconds. Of its waits for
 * the byte, the first thread has nine of ten in place_often and the tenth in place_rare; each 50 ms
 * it waits 20 ms in place_long. Twenty others wait in turn 12 ms in place_12 and 1 ms in place_1.
 * Prints how many waits all threads had, that thread in place_long, and the nanoseconds of the
 * others in place_12 and place_1.
 *
 * prog-flags: -fno-omit-frame-pointer -fno-optimize-sibling-calls
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline, noclone))
/* Behind a call, so that it is no tail call. */
#define STAY __asm__ volatile("")

#define TURNS 20

static int there[2], back[2];
static _Atomic int done;
static _Atomic uint64_t spent[2];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static int take(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

PLACE int place_often(void)
{
	const int ok = take(back[0]);

	STAY;
	return ok;
}

PLACE int place_rare(void)
{
	const int ok = take(back[0]);

	STAY;
	return ok;
}

static void rest(long ns)
{
	const struct timespec ts = { 0, ns };

	nanosleep(&ts, NULL);
}

PLACE void place_long(void)
{
	rest(20000000);
	STAY;
}

PLACE void place_12(void)
{
	rest(12000000);
	STAY;
}

PLACE void place_1(void)
{
	rest(1000000);
	STAY;
}

static void *turns(void *arg)
{
	while (!done) {
		const uint64_t begin = now_ns();
		uint64_t between;

		place_12();
		between = now_ns();
		place_1();
		spent[0] += between - begin;
		spent[1] += now_ns() - between;
	}
	return arg;
}

static void *answer(void *arg)
{
	while (take(there[0]))
		if (write(back[1], "", 1) != 1)
			break;
	return arg;
}

int main(int argc, char **argv)
{
	const uint64_t end = now_ms() + (argc > 1 ? strtoull(argv[1], NULL, 10) * 1000 : 1000);
	uint64_t pause = now_ms() + 50;
	struct rusage usage;
	unsigned longs = 0;
	pthread_t thread, others[TURNS];
	cpu_set_t cpus;

	for (unsigned i = 0; i < TURNS; i++)
		if (pthread_create(&others[i], NULL, turns, NULL))
			return 1;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (pipe(there) || pipe(back) || sched_setaffinity(0, sizeof(cpus), &cpus) ||
	    pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (unsigned i = 0; now_ms() < end; i++) {
		if (write(there[1], "", 1) != 1 || !(i % 10 ? place_often() : place_rare()))
			return 1;
		if (now_ms() < pause)
			continue;
		place_long();
		longs++;
		pause = now_ms() + 50;
	}
	close(there[1]);
	done = 1;
	for (unsigned i = 0; i < TURNS; i++)
		pthread_join(others[i], NULL);
	if (pthread_join(thread, NULL) || getrusage(RUSAGE_SELF, &usage))
		return 1;
	return printf("%ld %u %llu %llu\n", usage.ru_nvcsw, longs, (unsigned long long)spent[0],
		      (unsigned long long)spent[1]) < 0;
}
