/* SPDX-License-Identifier: MIT */
/* try.c - facts found by trying: opens, a count that advances, a ring buffer. */
#include "lib/plan/plan.h"
#include "tools/cli/try_open.h"
#include "tools/doctor/facts.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

/* perf's default size of a ring buffer. */
#define RING_BYTES (512u << 10)

static struct pmc_attr attr_of(uint32_t type, uint64_t config, bool user)
{
	return (struct pmc_attr){
		.base = {
			.type = type,
			.size = sizeof(struct perf_event_attr),
			.config = config,
			.exclude_kernel = user,
			.exclude_hv = user,
		},
	};
}

static int try_event(uint32_t type, uint64_t config, bool user)
{
	struct pmc_attr attr = attr_of(type, config, user);

	attr.base.disabled = 1;
	return tool_perf_try(&attr.base);
}

/* Virtual PMUs may accept events and never count. */
static bool counts(bool user)
{
	const struct pmc_event cycles = { .type = PERF_TYPE_HARDWARE,
					  .config = PERF_COUNT_HW_CPU_CYCLES };
	const struct pmc_event *events[] = { &cycles };
	const enum pmc_scope scope = user ? PMC_SCOPE_USER : PMC_SCOPE_ALL;

	return pmc_probe_together(pmc_perf_open_self, events, &scope, 1) == 1;
}

static int try_cpu(void)
{
	const struct pmc_event clock = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_CPU_CLOCK };

	return tool_event_try(&clock, PMC_SCOPE_ALL, sched_getcpu());
}

static int try_ring(void)
{
	struct pmc_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true);
	size_t size = RING_BYTES + (size_t)sysconf(_SC_PAGESIZE);
	int fd, error = 0;
	void *ring;

	attr.base.disabled = 1;
	attr.base.sample_period = 1000000000;
	fd = pmc_perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return fd;
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		error = -errno;
	else
		munmap(ring, size);
	close(fd);
	return error;
}

void doctor_try(struct doctor_facts *facts)
{
	facts->software_user = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true);
	facts->software = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false);
	facts->cycles_user = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true);
	facts->cycles = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
	if (facts->software_user == TOOL_PROBE_KILLED)
		return;
	if (facts->cycles_user == 0)
		facts->cycles_run = counts(facts->cycles != 0) ? PMC_YES : PMC_NO;
	facts->system_wide = try_cpu();
	facts->ring = try_ring();
}
