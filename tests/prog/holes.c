/* SPDX-License-Identifier: MIT */
/*
 * holes.c - unmaps memory, works, and counts how often something else is mapped in its place
 * meanwhile: a program with one thread may rely on nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

static volatile long sum;

/* Many stacks, so that tables of them grow. */
__attribute__((noinline)) static long work(int depth)
{
	if (depth)
		return work(depth - 1) + 1;
	for (int i = 0; i < 40000; i++)
		sum += i;
	return 0;
}

int main(void)
{
	unsigned taken = 0;

	for (int round = 0; round < 2000; round++) {
		/* The size of a small mapping, then of one for more than 100 stacks. */
		const size_t bytes = round < 400 ? 4096 : 28672;
		char *hole = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(hole, bytes);
		work(round % 400);
		for (size_t at = 0; at < bytes; at += 4096)
			if (msync(hole + at, 4096, MS_ASYNC) == 0 || errno != ENOMEM) {
				taken++;
				break;
			}
	}
	printf("%u taken\n", taken);
	return 0;
}
