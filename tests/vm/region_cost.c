/* SPDX-License-Identifier: MIT */
/*
 * region_cost PAIRS OUT - what a pair costs in instructions of user mode, next to the reads in it.
 *
 * Under the agent with PMC_EVENTS=six events. Counts, by a counter of its own: PAIRS empty regions,
 * twice as many reads of a group of six by the same code as the agent's (agent/core/user_read.h)
 * and by read(2), and writes a line for each to OUT: what, instructions a pair.
 * prog-flags: -Iinclude -iquote . agent/core/linux/user_read.c */
#include "agent/core/user_read.h"

#include <linux/perf_event.h>
#include <pmc/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(uint64_t config, int leader, bool user, bool kernel)
{
	struct pmc_attr attr = {
		.base = { .type = PERF_TYPE_RAW,
			  .config = config,
			  .size = sizeof(attr.base),
			  .exclude_kernel = !kernel,
			  .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
					 PERF_FORMAT_TOTAL_TIME_ENABLED |
					 PERF_FORMAT_TOTAL_TIME_RUNNING },
	};
	int fd;

	if (user)
		pmc_user_request(&attr);
	fd = (int)syscall(SYS_perf_event_open, &attr.base, 0, -1, leader, 0);
	if (fd < 0) {
		perror("perf_event_open");
		exit(1);
	}
	return fd;
}

static uint64_t count(int fd)
{
	uint64_t words[5];

	if (read(fd, words, sizeof(words)) != sizeof(words))
		exit(1);
	return words[3];
}

int main(int argc, char **argv)
{
	/* The agent has two counters of its own, these two, and the meter one. */
	enum { N = 2 };
	long pairs = argc > 1 ? atol(argv[1]) : 1000;
	FILE *out = argc > 2 ? fopen(argv[2], "w") : stdout;
	_Alignas(64) uint64_t words[3 + 2 * N], enabled, running, start;
	pmc_user_page *pages[N];
	int fds[N], meter, all;
	bool user = true;

	if (!out)
		return 1;
	for (int i = 0; i < N; i++) {
		fds[i] = open_event(0x08, i ? fds[0] : -1, true, false);
		if (pmc_user_map(fds[i], &pages[i]) != 0)
			return 1;
	}
	meter = open_event(0x08, -1, false, false);
	all = open_event(0x08, -1, false, true);
	pmc_region_begin("first");
	pmc_region_end();

	start = count(meter);
	for (long i = 0; i < pairs; i++) {
		pmc_region_begin("a region");
		pmc_region_end();
	}
	fprintf(out, "pair %ld\n", (long)(count(meter) - start) / pairs);
	start = count(all);
	for (long i = 0; i < pairs; i++) {
		pmc_region_begin("a region");
		pmc_region_end();
	}
	fprintf(out, "pair_all %ld\n", (long)(count(all) - start) / pairs);

	start = count(meter);
	for (long i = 0; i < 2 * pairs; i++)
		user &= pmc_user_read_group(pages, N, &enabled, &running, words);
	fprintf(out, "user_reads %ld\n", user ? (long)(count(meter) - start) / pairs : 0);
	start = count(all);
	for (long i = 0; i < 2 * pairs; i++)
		if (read(fds[0], words, sizeof(words)) != sizeof(words))
			return 1;
	fprintf(out, "reads_all %ld\n", (long)(count(all) - start) / pairs);
	return fclose(out) != 0;
}
