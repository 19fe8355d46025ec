/* SPDX-License-Identifier: MIT */
/*
 * region_cost PAIRS regions|reads [N] - what a pair of marks costs in instructions next to the
 * reads in it.
 *
 * regions, under the agent with events of user mode: PAIRS empty regions. reads, without it: twice
 * as many readings of a group of N such events (5), by the agent's code for user space
 * (lib/count/user_read.h) and by read(2). A line for each: what, instructions for each pair
 * in user mode, and in all. prog-flags: -Iinclude */
#include "lib/count/user_read.h"

#include <linux/perf_event.h>
#include <pmc/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As a library has it: a call, for any number of events. */
static __attribute__((noinline)) bool read_group(pmc_user_page *const *pages, unsigned n,
						 uint64_t *enabled_ns, uint64_t *running_ns,
						 uint64_t *values)
{
	return pmc_user_read_group(pages, n, enabled_ns, running_ns, values);
}

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

static int meter, all;
static uint64_t start_user, start_all;

static void begin(void)
{
	start_all = count(all);
	start_user = count(meter);
}

static void end(const char *what, long pairs)
{
	uint64_t user = count(meter), both = count(all);

	printf("%s %ld %ld\n", what, (long)(user - start_user) / pairs,
	       (long)(both - start_all) / pairs);
}

static int reads(long pairs, int n)
{
	enum { MOST = 6 };
	_Alignas(64) uint64_t words[3 + 2 * MOST], enabled, running;
	const size_t bytes = (3 + 2 * (size_t)n) * sizeof(words[0]);
	pmc_user_page *pages[MOST];
	bool user = true;
	int fds[MOST];

	if (n < 1 || n > MOST)
		return 2;
	for (int i = 0; i < n; i++) {
		fds[i] = open_event(i ? 0x08 : 0x11, i ? fds[0] : -1, true, false);
		if (pmc_user_map(fds[i], &pages[i]) != 0)
			return 1;
	}
	user = read_group(pages, (unsigned)n, &enabled, &running, words);
	begin();
	for (long i = 0; i < 2 * pairs && user; i++)
		user = read_group(pages, (unsigned)n, &enabled, &running, words);
	if (user)
		end("user_reads", pairs);
	begin();
	for (long i = 0; i < 2 * pairs; i++)
		if (read(fds[0], words, bytes) != (ssize_t)bytes)
			return 1;
	end("reads", pairs);
	return 0;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 1000;

	meter = open_event(0x08, -1, false, false);
	all = open_event(0x08, -1, false, true);
	if (argc > 2 && argv[2][2] == 'a')
		return reads(pairs, argc > 3 ? atoi(argv[3]) : 5);
	pmc_region_begin("a region");
	pmc_region_end();
	begin();
	for (long i = 0; i < pairs; i++) {
		pmc_region_begin("a region");
		pmc_region_end();
	}
	end("pair", pairs);
	return 0;
}
