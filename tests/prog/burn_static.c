/* SPDX-License-Identifier: MIT */
/* burn_static MS [CMD...]: uses MS ms of CPU; statically linked, so LD_PRELOAD has no effect. With
 * CMD in each of two threads, then becomes CMD. */
/* prog-flags: -static */
#include "burn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *burn(void *ms)
{
	burn_thread_ms((long)(size_t)ms);
	return NULL;
}

int main(int argc, char **argv)
{
	const long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 300;
	pthread_t thread;

	if (argc > 2 && pthread_create(&thread, NULL, burn, (void *)(size_t)ms))
		return 2;
	burn_thread_ms(ms);
	if (argc > 2) {
		pthread_join(thread, NULL);
		execvp(argv[2], argv + 2);
		return 127;
	}
	puts("burnt");
	return 0;
}
