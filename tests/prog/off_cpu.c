/* SPDX-License-Identifier: MIT */
/*
 * off_cpu.c - threads that wait in known functions for a known time at least.
 *
 * Each thread sleeps in a function of its own until the main thread, which has seen it asleep and
 * slept for 200 ms itself, wakes it. Prints "FUNCTION LEAST_NS MOST_NS" for each: it was asleep
 * for LEAST_NS at least, and its call took MOST_NS. With the argument "fork" a forked child does
 * this; with "input" the main thread only waits for each byte of its input. Status 1: a call was
 * interrupted.
 *
 * prog-flags: -I. -fno-omit-frame-pointer -fno-optimize-sibling-calls
 */
#include "lib/base/sys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEAST_NS 200000000
#define N	 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, interrupted, pipe_fds[2];

#define PLACE __attribute__((noinline, noclone))
/* Behind a call, so that it is no tail call. */
#define STAY __asm__ volatile("")

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Frame pointers lose the function that called the C library, as that keeps none. */
PLACE void call_nanosleep(void)
{
	const struct timespec ts = { 0, LEAST_NS };

	interrupted |= nanosleep(&ts, NULL) != 0;
	STAY;
}

PLACE void place_sleep(void)
{
	call_nanosleep();
	STAY;
}

PLACE void call_read(void)
{
	char byte;

	interrupted |= read(pipe_fds[0], &byte, 1) != 1;
	STAY;
}

PLACE void place_pipe(void)
{
	call_read();
	STAY;
}

PLACE void place_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	STAY;
}

PLACE void place_cond(void)
{
	pthread_mutex_lock(&guard);
	while (!ready)
		pthread_cond_wait(&cond, &guard);
	pthread_mutex_unlock(&guard);
	STAY;
}

static struct place {
	const char *name;
	void (*wait)(void);
	_Atomic int tid;
	pthread_t thread;
	uint64_t took_ns;
} places[N] = {
	{ .name = "place_sleep", .wait = place_sleep },
	{ .name = "place_pipe", .wait = place_pipe },
	{ .name = "place_mutex", .wait = place_mutex },
	{ .name = "place_cond", .wait = place_cond },
};

static void *start(void *arg)
{
	struct place *place = arg;
	uint64_t from;

	pthread_setname_np(pthread_self(), place->name);
	from = now();
	atomic_store(&place->tid, (int)syscall(SYS_gettid));
	place->wait();
	place->took_ns = now() - from;
	return NULL;
}

/* Innermost itself. */
PLACE ssize_t call_input(void)
{
	char byte;
	ssize_t n = pmc_sys3(SYS_read, STDIN_FILENO, &byte, 1);

	STAY;
	return n;
}

PLACE ssize_t place_input(void)
{
	ssize_t n = call_input();

	STAY;
	return n;
}

static int is_asleep(struct place *place)
{
	char path[64], text[256] = "", *at;
	FILE *file;

	if (!atomic_load(&place->tid))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(&place->tid));
	file = fopen(path, "r");
	if (!file)
		return 0;
	at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return at && at[2] == 'S';
}

static int run(void)
{
	struct timespec ts = { 0, LEAST_NS };

	if (pipe(pipe_fds) != 0)
		return 2;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < N; i++)
		if (pthread_create(&places[i].thread, NULL, start, &places[i]) != 0)
			return 2;
	/* The first one wakes up by itself. */
	for (int i = 1; i < N; i++)
		while (!is_asleep(&places[i]))
			usleep(1000);
	while (nanosleep(&ts, &ts) != 0)
		;
	interrupted |= write(pipe_fds[1], "", 1) != 1;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&guard);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&guard);
	for (int i = 0; i < N; i++)
		pthread_join(places[i].thread, NULL);
	for (int i = 0; i < N; i++)
		printf("%s %d %llu\n", places[i].name, LEAST_NS,
		       (unsigned long long)places[i].took_ns);
	return interrupted;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 2)
		return run();
	if (!strcmp(argv[1], "input")) {
		while (place_input() == 1)
			;
		return 0;
	}
	if (fork() == 0)
		exit(run());
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
