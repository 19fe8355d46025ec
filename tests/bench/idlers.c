/* SPDX-License-Identifier: MIT */
/* idlers N PARTS SECONDS: N threads of which each uses PARTS thousandths of a CPU, in turns of 50
 * µs. */
#include "tests/bench/timing.h"

#include <pthread.h>

static uint64_t end;
static long parts;

static void *idle(void *arg)
{
	const uint64_t turn = 50000;

	while (now_ns() < end) {
		const uint64_t until = now_ns() + turn, rest = turn * 1000 / (uint64_t)parts;
		const struct timespec pause = { (time_t)(rest / 1000000000),
						(long)(rest % 1000000000) };

		while (now_ns() < until)
			;
		nanosleep(&pause, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 50;

	parts = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
	end = now_ns() + (uint64_t)((argc > 3 ? strtod(argv[3], NULL) : 2) * 1e9);
	for (long i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, idle, NULL))
			return 1;
		pthread_detach(thread);
	}
	idle(NULL);
	return 0;
}
