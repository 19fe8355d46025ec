/* SPDX-License-Identifier: MIT */
/*
 * hold N CMD...: CMD while N counters of CPU 0 are held by pinned per-CPU events, as the NMI
 * watchdog of a PC holds one.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr;

	if (argc < 3)
		return 2;
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_RAW;
	attr.config =
		0x08; /* INST_RETIRED: takes a programmable counter, never the cycle counter */
	attr.pinned = 1;
	for (int n = atoi(argv[1]); n > 0; n--)
		/* Not close-on-exec: CMD keeps it open. */
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) < 0) {
			perror("hold: perf_event_open");
			return 125;
		}
	execvp(argv[2], argv + 2);
	return 127;
}
