/* SPDX-License-Identifier: MIT */
/*
 * serve.c - a thread "worker" that handles each line of stdin in a marked region "request", with
 * 100 page faults, around one "query" that uses CPU time; another waits. After the line "exec" the
 * program becomes `sleep 1000` without the agent. Prints a line after each.
 *
 * prog-flags: -Iinclude -pthread
 */
#include "burn.h"

#include <pmc/region.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 100

static pthread_barrier_t started;

static void handle(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *memory;

	pmc_region_begin("request");
	memory = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	madvise(memory, (size_t)(PAGES * page), MADV_NOHUGEPAGE);
	for (long i = 0; i < PAGES; i++)
		memory[i * page] = 1;
	munmap(memory, (size_t)(PAGES * page));
	pmc_region_begin("query");
	burn_thread_ms(5);
	pmc_region_end();
	pmc_region_end();
}

/* Past the agent, which would go along. */
static void become_sleep(void)
{
	char *const argv[] = { "sleep", "1000", NULL }, *const envp[] = { NULL };

	syscall(SYS_execve, "/bin/sleep", argv, envp);
}

static void *serve(void *arg)
{
	char line[64];

	pthread_setname_np(pthread_self(), "worker");
	pthread_barrier_wait(&started);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "exec\n"))
			become_sleep();
		handle();
		puts("handled");
		fflush(stdout);
	}
	return arg;
}

static void *idle(void *arg)
{
	pthread_barrier_wait(&started);
	pause();
	return arg;
}

int main(void)
{
	pthread_t worker, other;

	pthread_barrier_init(&started, NULL, 3);
	if (pthread_create(&worker, NULL, serve, NULL) != 0 ||
	    pthread_create(&other, NULL, idle, NULL) != 0)
		return 1;
	pthread_barrier_wait(&started);
	puts("ready");
	fflush(stdout);
	pthread_join(worker, NULL);
	return 0;
}
