/* SPDX-License-Identifier: MIT */
/*
 * ends [ROUNDS]: threads that end in different ways: by return, by pthread_exit, by
 * deferred and asynchronous cancellation, by cancellation right after creation, detached.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int births, cleanups, detached;
static pthread_key_t key;
static atomic_int destructors;

static void on_key(void *value)
{
	(void)value;
	destructors++;
}

static void name(const char *text)
{
	pthread_setname_np(pthread_self(), text);
	pthread_setspecific(key, &key);
}

static void cleanup(void *arg)
{
	(void)arg;
	cleanups++;
}

static void *by_return(void *arg)
{
	name("by-return");
	return arg;
}

static void *by_exit(void *arg)
{
	name("by-exit");
	pthread_exit(arg);
}

static void *by_cancel(void *arg)
{
	name("by-cancel");
	births++;
	pthread_cleanup_push(cleanup, NULL);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return arg;
}

static void *by_async(void *arg)
{
	name("by-async");
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	births++;
	for (;;)
		;
	return arg;
}

/* Cancelled at once by its creator: it must run up to its first cancellation point. */
static void *at_birth(void *arg)
{
	births++;
	name("at-birth");
	for (;;)
		pause();
	return arg;
}

static void *by_detach(void *arg)
{
	name("by-detach");
	detached++;
	return arg;
}

static void check(int good, const char *what)
{
	if (!good) {
		printf("wrong: %s\n", what);
		exit(1);
	}
}

/* A detached thread that has not ended yet is a leak for memcheck. */
static void wait_until_alone(void)
{
	struct stat tasks;

	/* Links: "..", "." and one for each thread. */
	while (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3)
		usleep(1000);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	pthread_key_create(&key, on_key);
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;
		void *result;

		check(!pthread_create(&thread, NULL, by_return, (void *)(intptr_t)7), "create");
		pthread_join(thread, &result);
		check(result == (void *)(intptr_t)7, "result of return");

		pthread_create(&thread, NULL, by_exit, (void *)(intptr_t)8);
		pthread_join(thread, &result);
		check(result == (void *)(intptr_t)8, "result of pthread_exit");

		births = 0;
		pthread_create(&thread, NULL, by_cancel, NULL);
		while (!births)
			;
		pthread_cancel(thread);
		pthread_join(thread, &result);
		check(result == PTHREAD_CANCELED, "result of cancel");

		births = 0;
		pthread_create(&thread, NULL, by_async, NULL);
		while (!births)
			;
		pthread_cancel(thread);
		pthread_join(thread, &result);
		check(result == PTHREAD_CANCELED, "result of asynchronous cancel");

		births = 0;
		pthread_create(&thread, NULL, at_birth, NULL);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		check(result == PTHREAD_CANCELED, "result of cancel at birth");
		check(births == 1, "start routine ran though cancelled at birth");

		detached = 0;
		pthread_create(&thread, NULL, by_detach, NULL);
		pthread_detach(thread);
		while (!detached)
			;
	}
	wait_until_alone();
	check(cleanups == rounds, "cleanup handlers");
	check(destructors >= rounds * 5, "destructors");
	puts("all ended");
	return 0;
}
