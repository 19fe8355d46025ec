/* SPDX-License-Identifier: MIT */
/* named: threads named by pthread_setname_np, by prctl(), by the prctl system call, by their
 * creator, named twice, and unnamed. named live: threads named by their creator, one at once, one
 * while it runs, that are alive at the end. */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t named_by_creator;

static void *by_pthread(void *arg)
{
	pthread_setname_np(pthread_self(), "by-pthread");
	burn_thread_ms(10);
	return arg;
}

static void *by_prctl(void *arg)
{
	prctl(PR_SET_NAME, "by-prctl-and-too-long");
	burn_thread_ms(10);
	return arg;
}

static void *by_syscall(void *arg)
{
	syscall(SYS_prctl, PR_SET_NAME, "by-syscall", 0L, 0L, 0L);
	burn_thread_ms(10);
	return arg;
}

static void *by_creator(void *arg)
{
	pthread_barrier_wait(&named_by_creator);
	burn_thread_ms(10);
	return arg;
}

static void *renamed(void *arg)
{
	pthread_setname_np(pthread_self(), "first-name");
	burn_thread_ms(5);
	pthread_setname_np(pthread_self(), "last-name");
	burn_thread_ms(5);
	return arg;
}

static void *hostile(void *arg)
{
	prctl(PR_SET_NAME, "\033[31mred\n\"\\\xff");
	burn_thread_ms(10);
	return arg;
}

static void *unnamed(void *arg)
{
	burn_thread_ms(10);
	return arg;
}

static void *live(void *arg)
{
	pthread_barrier_wait(&named_by_creator);
	for (;;)
		pause();
	return arg;
}

static int end_with_live(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&named_by_creator, NULL, 3);
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, live, NULL);
	pthread_setname_np(threads[0], "at-once");
	pthread_barrier_wait(&named_by_creator);
	pthread_setname_np(threads[1], "later");
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[7];

	if (argc > 1 && argv[1][0] == 'l')
		return end_with_live();
	pthread_barrier_init(&named_by_creator, NULL, 2);
	pthread_create(&threads[0], NULL, by_pthread, NULL);
	pthread_create(&threads[1], NULL, by_prctl, NULL);
	pthread_create(&threads[2], NULL, by_creator, NULL);
	pthread_setname_np(threads[2], "by-creator");
	pthread_barrier_wait(&named_by_creator);
	pthread_create(&threads[3], NULL, renamed, NULL);
	pthread_create(&threads[4], NULL, hostile, NULL);
	pthread_create(&threads[5], NULL, unnamed, NULL);
	pthread_create(&threads[6], NULL, by_syscall, NULL);
	for (int i = 0; i < 7; i++)
		pthread_join(threads[i], NULL);
	puts("named");
	return 0;
}
