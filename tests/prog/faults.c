/* SPDX-License-Identifier: MIT */
/*
 * faults [THREADS]: threads with known counts, run in sequence: thread i (from 1) touches
 * 1,000 + 500 i new pages and uses 60 + 20 i ms of CPU in total.
 */
#include "burn.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *work(void *arg)
{
	long i = (long)(intptr_t)arg;
	size_t bytes = (size_t)(1000 + 500 * i) * 4096;
	char name[16];
	char *p;

	snprintf(name, sizeof(name), "fault-%ld", i);
	pthread_setname_np(pthread_self(), name);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += 4096)
		((volatile char *)p)[at] = 1;
	munmap(p, bytes);
	burn_until_ns((60 + 20 * i) * 1000000LL);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 3;

	for (long i = 1; i <= n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)(intptr_t)i))
			return 1;
		pthread_join(thread, NULL);
	}
	puts("faulted");
	return 0;
}
