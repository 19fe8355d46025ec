/* SPDX-License-Identifier: MIT */
/* rows.c - groups and the rows that sum them; metrics of a row. */
#include "tools/stat/stat.h"
#include "lib/base/number.h"
#include "tools/cli/list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

unsigned stat_row(struct stat_job *stat, const struct stat_key *key)
{
	struct stat_row *row, *list;

	/* Threads are looked for in the order of their rows. */
	for (unsigned n = 0, i = stat->found; n < stat->n_rows; n++) {
		i = i + 1 < stat->n_rows ? i + 1 : 0;
		if (!memcmp(&stat->rows[i].key, key, sizeof(*key)) && !stat->rows[i].ended)
			return stat->found = i;
	}
	list = tool_list_grow(stat->rows, stat->n_rows, &stat->rows_room, sizeof(*row));
	if (!list)
		return UINT_MAX;
	stat->rows = list;
	row = &stat->rows[stat->n_rows];
	*row = (struct stat_row){ .key = *key, .seen = true, .shown = true };
	row->counts =
		pmc_arena_alloc(&stat->arena, (stat->live.view.count + 1) * sizeof(*row->counts));
	return row->counts ? stat->n_rows++ : UINT_MAX;
}

int stat_add_group(struct stat_job *stat, unsigned row, unsigned first, unsigned n,
		   enum pmc_perf_group_kind kind, pid_t pid, int cpu)
{
	struct stat_group *group, *list;
	int error;

	list = tool_list_grow(stat->groups, stat->n_groups, &stat->groups_room, sizeof(*group));
	if (!list)
		return -ENOMEM;
	stat->groups = list;
	group = &stat->groups[stat->n_groups];
	*group = (struct stat_group){ .row = row, .cpu = cpu };
	error = live_group_open(&group->group, &stat->live, first, n, kind, pid, cpu);
	if (!error)
		stat->n_groups++;
	return error;
}

static void read_clock(const struct stat_job *stat, const struct live_group *group,
		       struct stat_row *row)
{
	if (stat->clock >= group->first && stat->clock - group->first < group->n &&
	    group->now.running_ns >= group->now.enabled_ns)
		row->clock_ns = group->words[stat->clock - group->first];
}

/* A thread was on a CPU for this long between the last reading of its waits and its end. */
static void end_row(struct stat_row *row)
{
	const uint64_t known_ns = row->now.cpu_ns - row->begin.cpu_ns;
	const uint64_t since_ns = row->clock_ns - row->clock_read_ns;
	const uint64_t lag_ns = pmc_sub_sat(row->clock_ns, known_ns);

	row->now.cpu_ns += since_ns > lag_ns ? since_ns : lag_ns;
	row->until_ns += since_ns;
}

void stat_read(struct stat_job *stat)
{
	for (unsigned g = 0; g < stat->n_groups; g++) {
		struct stat_group *group = &stat->groups[g];
		struct stat_row *row = &stat->rows[group->row];
		const bool was_read = live_group_read(&group->group);

		/* This time passes only while the thread runs. */
		row->slept =
			was_read && group->group.now.enabled_ns == group->group.before.enabled_ns;
		if (!was_read)
			continue;
		read_clock(stat, &group->group, row);
		if (group->row && !row->seen) {
			live_group_close(&group->group);
			end_row(row);
		}
	}
}

/* ---- events of the OS ----------------------------------------------------------------------- */

static uint64_t os_value(uint64_t event, const struct live_span *span)
{
	return event == PMC_OS_RUN_DELAY ? span->delay_ns :
	       event == PMC_OS_USER_TIME ? span->user_ns :
					   span->system_ns;
}

static void put_os(struct pmc_count *count, uint64_t value, uint64_t ns)
{
	if (count->state != PMC_COUNTED)
		*count = (struct pmc_count){ .state = PMC_COUNTED };
	count->raw += value;
	count->enabled_ns += ns;
	count->running_ns += ns;
}

/* One event in all rows of threads, or of a command at its end. */
static void sum_os(struct stat_job *stat, unsigned e, bool cumulative)
{
	const uint64_t event = stat->live.view.events[e].def.config;
	const uint64_t ns = stat->now_ns - (cumulative ? stat->begin_ns : stat->before_ns);

	if (stat->target == STAT_COMMAND && stat->ended && event != PMC_OS_RUN_DELAY)
		put_os(&stat->rows[0].counts[e],
		       stat_ns_of(event == PMC_OS_USER_TIME ? stat->usage.ru_utime :
							      stat->usage.ru_stime),
		       ns);
	for (unsigned r = 1; r < stat->n_rows; r++) {
		struct stat_row *row = &stat->rows[r];
		struct live_span span;
		uint64_t value;

		if (stat_waits_of(stat, row, cumulative, &span) != ALL_KNOWN)
			continue;
		value = os_value(event, &span);
		put_os(&row->counts[e], value, span.ns);
	}
}

void stat_sum(struct stat_job *stat, bool cumulative)
{
	for (unsigned r = 0; r < stat->n_rows; r++)
		live_counts_clear(&stat->live, stat->rows[r].counts);
	for (unsigned g = 0; g < stat->n_groups; g++) {
		const struct stat_group *group = &stat->groups[g];

		live_group_add(&group->group, &stat->live, cumulative,
			       stat->rows[group->row].counts);
	}
	for (unsigned e = 0; e < stat->live.view.count; e++)
		if (stat->live.view.events[e].def.type == PMC_TYPE_OS)
			sum_os(stat, e, cumulative);
	if (stat_has_waits(stat))
		stat_rest_sum(stat, cumulative);
}

/* The rest of the time. The kernel adds a wait for a CPU when it ends: what of it has been shown as
 * blocked is made up for later, and never shown less, so that the intervals add up. */
uint64_t stat_blocked_ns(const struct stat_job *stat, const struct stat_row *row)
{
	const uint64_t since = row->since_ns < stat->begin_ns ? stat->begin_ns : row->since_ns;
	const uint64_t spent = pmc_sub_sat(row->now.cpu_ns, row->begin.cpu_ns) +
			       pmc_sub_sat(row->now.delay_ns, row->begin.delay_ns);
	const uint64_t rest = pmc_sub_sat(pmc_sub_sat(row->until_ns, since), spent);

	return rest > row->blocked_ns ? rest : row->blocked_ns;
}

enum stat_known stat_waits_of(const struct stat_job *stat, const struct stat_row *row,
			      bool cumulative, struct live_span *span)
{
	bool all = cumulative || !row->before.known;
	const struct live_waits *from = all ? &row->begin : &row->before;
	uint64_t since = all ? row->since_ns : stat->before_ns;

	if (since < stat->begin_ns)
		since = stat->begin_ns;
	/* It ended before it was read again. */
	if (!row->now.known || row->read_ns <= since) {
		*span = (struct live_span){
			.cpu_ns = pmc_sub_sat(row->now.cpu_ns, from->cpu_ns),
		};
		return span->cpu_ns ? CPU_TIME_ONLY : NOT_KNOWN;
	}
	*span = (struct live_span){
		.ns = pmc_sub_sat(row->until_ns, since),
		.cpu_ns = pmc_sub_sat(row->now.cpu_ns, from->cpu_ns),
		.delay_ns = pmc_sub_sat(row->now.delay_ns, from->delay_ns),
		.voluntary = pmc_sub_sat(row->now.voluntary, from->voluntary),
		.involuntary = pmc_sub_sat(row->now.involuntary, from->involuntary),
		.user_ns = pmc_sub_sat(row->now.user_ns, from->user_ns),
		.system_ns = pmc_sub_sat(row->now.system_ns, from->system_ns),
	};
	span->blocked_ns = stat_blocked_ns(stat, row) - (all ? 0 : row->blocked_ns);
	return ALL_KNOWN;
}

int stat_clock(const struct stat_job *stat)
{
	const uint64_t clock = stat->cgroup ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;

	for (unsigned e = 0; e < stat->live.view.count; e++) {
		const struct pmc_event_def *def = &stat->live.view.events[e].def;

		if (def->type == PERF_TYPE_SOFTWARE && def->config == clock &&
		    (stat->target != STAT_MACHINE || stat->cgroup))
			return (int)e;
	}
	return -1;
}
