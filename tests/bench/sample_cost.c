/* SPDX-License-Identifier: MIT */
/*
 * sample_cost DEPTH MS: median CPU time in ns that a signal takes from a program with a profiler,
 * and the number of signals.
 *
 * The program reads the clock all the time, in the DEPTH-th function from main on. Where the time
 * jumps, it was interrupted; if memory below its stack has changed too, by a signal. CPU time of
 * the thread leaves out what other programs ran meanwhile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST	100000u
#define WORDS	896u
#define MARK	UINT64_C(0x5a5a1234abcd9876)
#define JUMP_NS 400

static int64_t taken[MOST];
static unsigned n;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Calls of this program use less than the kilobyte above `low`. */
__attribute__((noinline)) static void look(int64_t ms)
{
	volatile uint64_t *low = (uint64_t *)__builtin_frame_address(0) - WORDS - 128;
	const int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;
	int64_t cpu = 0, end, from, last, at;
	unsigned i;

	while (cpu < until) {
		for (i = 0; i < WORDS; i++)
			low[i] = MARK;
		cpu = now(CLOCK_THREAD_CPUTIME_ID);
		from = last = now(CLOCK_MONOTONIC);
		while ((at = now(CLOCK_MONOTONIC)) - last < JUMP_NS)
			last = at;
		end = now(CLOCK_THREAD_CPUTIME_ID);
		for (i = 0; i < WORDS && low[i] == MARK;)
			i++;
		if (i < WORDS && n < MOST)
			taken[n++] = end - cpu - (last - from);
	}
}

__attribute__((noinline)) static void descend(unsigned depth, int64_t ms)
{
	if (depth > 1)
		descend(depth - 1, ms);
	else
		look(ms);
	/* No call is the last thing that this function does. */
	__asm__ volatile("");
}

static int by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	descend((unsigned)atoi(argv[1]), atoll(argv[2]));
	qsort(taken, n, sizeof(taken[0]), by_value);
	return printf("%lld %u\n", n ? (long long)taken[n / 2] : 0, n) < 0;
}
