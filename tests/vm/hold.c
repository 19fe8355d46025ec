/* SPDX-License-Identifier: MIT */
/*
 * hold N CMD...: CMD while N counters of CPU 0 are held by pinned per-CPU events, as the NMI
 * watchdog of a PC holds one.
 */
#include "take.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (take_counters(atoi(argv[1])) != 0) {
		perror("hold: perf_event_open");
		return 125;
	}
	execvp(argv[2], argv + 2);
	return 127;
}
