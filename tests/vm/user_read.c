/* SPDX-License-Identifier: MIT */
/*
 * user_read N - reads its own counters in user space and by read(2), around a loop of N
 * instructions.
 *
 * A line each: "EVENT user|none A B C": by user-space reads, by read(2), and the difference of one
 * user-space read to the read(2) right behind it. "none": user space can not read it.
 */
#include "lib/count/user_read.h"
#include "tests/vm/loop.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t by_read(int fd, uint64_t *enabled)
{
	uint64_t words[3];

	if (read(fd, words, sizeof(words)) != sizeof(words))
		exit(1);
	*enabled = words[1];
	return words[0];
}

static int try_event(const char *name, uint32_t type, uint64_t config, bool ask, unsigned long n)
{
	struct pmc_attr attr = {
		.base = { .type = type,
			  .config = config,
			  .size = sizeof(attr.base),
			  .exclude_kernel = 1,
			  .read_format =
				  PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING },
	};
	uint64_t first, last, before, after, behind, enabled, running, then, now;
	pmc_user_page *page;
	bool user;
	int fd;

	if (ask)
		pmc_user_request(&attr);
	fd = (int)syscall(SYS_perf_event_open, &attr.base, 0, -1, -1, 0);
	if (fd < 0 || pmc_user_map(fd, &page) != 0) {
		perror(name);
		return 1;
	}
	user = pmc_user_read_group(&page, 1, &then, &running, &first);
	run_instructions(n);
	user = user && pmc_user_read_group(&page, 1, &enabled, &running, &last);
	behind = by_read(fd, &now);
	if (user && (enabled < then || running != enabled || now < enabled)) {
		fprintf(stderr, "%s: times\n", name);
		return 1;
	}
	before = by_read(fd, &then);
	run_instructions(n);
	after = by_read(fd, &now);
	if (user)
		printf("%s user %llu %llu %lld\n", name, (unsigned long long)(last - first),
		       (unsigned long long)(after - before), (long long)(behind - last));
	else
		printf("%s none - %llu -\n", name, (unsigned long long)(after - before));
	pmc_user_unmap(page);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	return try_event("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, n) |
	       try_event("raw", PERF_TYPE_RAW, 0x08, true, n) |
	       try_event("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, n) |
	       try_event("unasked", PERF_TYPE_RAW, 0x08, false, n) |
	       try_event("software", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, n);
}
