/* SPDX-License-Identifier: MIT */
/*
 * phases - for each line of stdin one thread, "worker", does a step in the region "step": 100 ms of
 * CPU time, 100 sleeps and 2,048 page faults; then "done" is printed. The thread "sleeper" sleeps.
 * At the end of stdin the worker ends, then main. prog-flags: -Iinclude */
#include <pmc/region.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 100, PAGES = 2048, CPU_NS = 100000000 };

static pthread_barrier_t turn;
static volatile int over;

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void step(void)
{
	const struct timespec nap = { .tv_nsec = 1000 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	long long end = cpu_ns() + CPU_NS;
	char *pages;

	pmc_region_begin("step");
	pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	madvise(pages, PAGES * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		pages[(size_t)i * page] = 1;
	munmap(pages, PAGES * page);
	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&nap, NULL);
	while (cpu_ns() < end)
		;
	pmc_region_end();
}

static void *work(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&turn);
		if (over)
			return arg;
		step();
		pthread_barrier_wait(&turn);
	}
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t worker, sleeper;
	char line[64];

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&worker, NULL, work, NULL);
	pthread_setname_np(worker, "worker");
	pthread_create(&sleeper, NULL, idle, NULL);
	pthread_setname_np(sleeper, "sleeper");
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		puts("done");
	}
	over = 1;
	pthread_barrier_wait(&turn);
	pthread_join(worker, NULL);
	return 0;
}
