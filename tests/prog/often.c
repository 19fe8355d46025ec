/* SPDX-License-Identifier: MIT */
/*
 * often.c - a thread that waits as often as it can, in known places.
 *
 * Two threads on one CPU pass a byte to and fro for the given number of seconds. Of its waits for
 * the byte, the first thread has nine of ten in place_often and the tenth in place_rare; each 50 ms
 * it waits 20 ms in place_long. Prints how many waits all threads had, and that thread in
 * place_long.
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

static int there[2], back[2];

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
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

PLACE void place_long(void)
{
	const struct timespec ts = { 0, 20000000 };

	nanosleep(&ts, NULL);
	STAY;
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
	pthread_t thread;
	cpu_set_t cpus;

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
	if (pthread_join(thread, NULL) || getrusage(RUSAGE_SELF, &usage))
		return 1;
	return printf("%ld %u\n", usage.ru_nvcsw, longs) < 0;
}
