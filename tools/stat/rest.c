/* SPDX-License-Identifier: MIT */
/*
 * rest.c - CPU time of a process that no row of its threads has: of threads that ended before they
 * were found, and of others before they were found or after their last reading.
 */
#include "lib/base/number.h"
#include "tools/stat/stat.h"

#include <errno.h>
#include <limits.h>
#include <sys/sysinfo.h>

/* Clocks that are not read at the same time differ. schedstat of a thread on a CPU lags by a tick.
 */
#define SLACK_NS 1000000u

static bool is_clock(const struct pmc_event_def *def)
{
	return def->type == PERF_TYPE_SOFTWARE && def->config == PERF_COUNT_SW_TASK_CLOCK &&
	       def->scope == PMC_SCOPE_ALL;
}

int stat_rest_start(struct stat_job *stat)
{
	struct stat_row *rest = &stat->rest;

	stat->clock = UINT_MAX;
	if (!stat_has_waits(stat))
		return 0;
	for (unsigned i = 0; i < stat->live.plan.opened && !stat->refused; i++)
		if (is_clock(&stat->live.view.events[stat->live.view_of[i]].def))
			stat->clock = i;
	*rest = (struct stat_row){ .key = { -1, -1, -1, -1, -1 }, .name = "(ended threads)" };
	rest->now.known = true;
	rest->counts =
		pmc_arena_alloc(&stat->arena, (stat->live.view.count + 1) * sizeof(*rest->counts));
	if (stat->target == STAT_PROCESS)
		stat->process_ns = live_process_cpu_ns(stat->pid);
	return rest->counts ? 0 : -ENOMEM;
}

/* CPU time of a row until now. task-clock lacks the switches themselves, and schedstat what a
 * thread has had since it was put on a CPU, up to a tick. */
static uint64_t ran(struct stat_row *row)
{
	const uint64_t known = row->now.cpu_ns - row->begin.cpu_ns;

	row->ran_ns += row->clock_ns - row->ran_clock_ns;
	row->ran_clock_ns = row->clock_ns;
	if (known > row->ran_ns)
		row->ran_ns = known;
	return row->ran_ns;
}

/* Never falls, so that the intervals add up. */
void stat_rest_read(struct stat_job *stat, uint64_t process_ns)
{
	const uint64_t slack =
		stat->clock == UINT_MAX ? (uint64_t)get_nprocs() * LIVE_TICK_NS : SLACK_NS;
	uint64_t cpu = pmc_sub_sat(process_ns, stat->process_ns), clock = cpu;

	if (!process_ns || !stat->process_ns)
		return;
	for (unsigned r = 1; r < stat->n_rows; r++) {
		struct stat_row *row = &stat->rows[r];
		const uint64_t ns = ran(row);

		cpu = pmc_sub_sat(cpu, ns);
		/* The events of a later thread were opened when it had run for a time. */
		clock = pmc_sub_sat(clock, row->later ? row->clock_ns : ns);
	}
	if (cpu > stat->rest.now.cpu_ns + slack)
		stat->rest.now.cpu_ns = cpu;
	if (stat->clock != UINT_MAX && clock > stat->rest.clock_ns + slack)
		stat->rest.clock_ns = clock;
}

static uint64_t clock_of(const struct stat_job *stat, bool cumulative)
{
	return stat->rest.clock_ns - (cumulative ? 0 : stat->rest.clock_before_ns);
}

void stat_rest_sum(struct stat_job *stat, bool cumulative)
{
	const uint64_t ns = clock_of(stat, cumulative);
	struct pmc_count *count;

	live_counts_clear(&stat->live, stat->rest.counts);
	if (!ns)
		return;
	count = &stat->rest.counts[stat->live.view_of[stat->clock]];
	*count = (struct pmc_count){ .state = PMC_COUNTED };
	count->raw = count->added = count->enabled_ns = count->running_ns = ns;
}

bool stat_rest_shown(const struct stat_job *stat, bool cumulative)
{
	return clock_of(stat, cumulative) ||
	       stat->rest.now.cpu_ns != (cumulative ? 0 : stat->rest.before.cpu_ns);
}
