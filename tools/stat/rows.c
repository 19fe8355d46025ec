/* SPDX-License-Identifier: MIT */
/* rows.c - groups and the rows that sum them; metrics of a row. */
#include "tools/stat/stat.h"
#include "agent/core/base/clock.h"
#include "agent/core/base/number.h"
#include "agent/core/event/formula.h"
#include "agent/core/profile/fold.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool grow(void **list, unsigned n, unsigned *room, size_t size)
{
	unsigned more = *room ? *room * 2 : 64;
	void *bigger;

	if (n < *room)
		return true;
	bigger = realloc(*list, more * size);
	if (!bigger)
		return false;
	*list = bigger;
	*room = more;
	return true;
}

unsigned stat_row(struct stat_job *stat, const struct stat_key *key)
{
	struct stat_row *row;

	for (unsigned i = 0; i < stat->n_rows; i++)
		if (!memcmp(&stat->rows[i].key, key, sizeof(*key)))
			return i;
	if (!grow((void **)&stat->rows, stat->n_rows, &stat->rows_room, sizeof(*row)))
		return UINT_MAX;
	row = &stat->rows[stat->n_rows];
	*row = (struct stat_row){ .key = *key, .seen = true, .since_ns = pmc_now_ns() };
	row->counts = pmc_arena_alloc(&stat->arena, (stat->view.count + 1) * sizeof(*row->counts));
	return row->counts ? stat->n_rows++ : UINT_MAX;
}

int stat_add_group(struct stat_job *stat, unsigned row, unsigned first, unsigned n,
		   enum pmc_group_kind kind, pid_t pid, int cpu)
{
	const struct pmc_attr *attrs = &stat->plan.attrs[first];
	struct pmc_attr attr;
	struct stat_group *group;
	int error;

	if (!grow((void **)&stat->groups, stat->n_groups, &stat->groups_room, sizeof(*group)))
		return -ENOMEM;
	group = &stat->groups[stat->n_groups];
	*group = (struct stat_group){ .row = row, .first = first, .n = n, .cpu = cpu };
	group->fds = pmc_arena_alloc(&stat->arena, n * sizeof(*group->fds));
	group->words = pmc_arena_alloc(&stat->arena, n * 2 * sizeof(*group->words));
	if (!group->fds || !group->words)
		return -ENOMEM;
	memset(group->words, 0, n * 2 * sizeof(*group->words));
	group->words_before = group->words + n;
	/* An uncore event is not among the plan's opened ones. */
	if (first >= stat->plan.opened) {
		pmc_group_attr(&stat->plan.events[first].event, PMC_SCOPE_ALL, true, &attr);
		attrs = &attr;
	}
	error = pmc_group_open(attrs, n, kind, pid, cpu, 0, group->fds, &group->id);
	if (!error)
		stat->n_groups++;
	return error;
}

void stat_read(struct stat_job *stat)
{
	uint64_t words[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];
	struct pmc_reading now;

	for (unsigned g = 0; g < stat->n_groups; g++) {
		struct stat_group *group = &stat->groups[g];

		if (group->ended)
			continue;
		pmc_group_read(group->fds[0], group->id, group->n, &now, words);
		if (!now.n) {
			group->now.error = now.error;
			continue;
		}
		group->now = now;
		memcpy(group->words, words, group->n * sizeof(*words));
		if (group->row && !stat->rows[group->row].seen) {
			pmc_group_close(group->fds, group->n);
			group->ended = true;
		}
	}
}

static void add(struct pmc_count *to, const struct pmc_count *more)
{
	/* A row of CPUs or threads of which some were not counted is partial. */
	if (to->state == PMC_PARTIAL)
		return;
	if (to->state == PMC_NOT_COUNTED && !to->enabled_ns && !to->error) {
		*to = *more;
		to->added = pmc_count_value(more);
		return;
	}
	if (pmc_count_has_value(to) != pmc_count_has_value(more)) {
		to->state = PMC_PARTIAL;
		return;
	}
	to->added += pmc_count_value(more);
	to->raw += more->raw;
	to->enabled_ns += more->enabled_ns;
	to->running_ns += more->running_ns;
	if (more->state == PMC_SCALED)
		to->state = PMC_SCALED;
}

static void add_group(struct stat_job *stat, const struct stat_group *group, bool cumulative)
{
	const uint64_t enabled =
		group->now.enabled_ns - (cumulative ? 0 : group->before.enabled_ns);
	const uint64_t running =
		group->now.running_ns - (cumulative ? 0 : group->before.running_ns);

	for (unsigned i = 0; i < group->n; i++) {
		unsigned event = stat->view_of[group->first + i];
		struct pmc_count count = {
			.raw = group->words[i] - (cumulative ? 0 : group->words_before[i]),
			.enabled_ns = enabled,
			.running_ns = running,
			.state = running >= enabled ? PMC_COUNTED :
				 running	    ? PMC_SCALED :
						      PMC_NOT_COUNTED,
		};

		if (stat->plan.events[group->first + i].state != PMC_COUNTED &&
		    group->first < stat->plan.opened)
			continue;
		if (group->now.error || count.state == PMC_NOT_COUNTED) {
			count.state = PMC_NOT_COUNTED;
			count.error = group->now.error ? group->now.error : PMC_REASON_NEVER_RAN;
		}
		if (group->row)
			add(&stat->rows[group->row].counts[event], &count);
		add(&stat->rows[0].counts[event], &count);
	}
}

void stat_sum(struct stat_job *stat, bool cumulative)
{
	for (unsigned r = 0; r < stat->n_rows; r++)
		for (unsigned e = 0; e < stat->view.count; e++) {
			const struct pmc_event_def *def = &stat->view.events[e].def;

			stat->rows[r].counts[e] = (struct pmc_count){
				.state = def->state ? def->state : PMC_NOT_COUNTED,
				.error = def->error,
			};
		}
	for (unsigned g = 0; g < stat->n_groups; g++)
		add_group(stat, &stat->groups[g], cumulative);
}

void stat_value(const struct stat_job *stat, const struct stat_row *row, unsigned event,
		bool *known, double *value)
{
	const struct pmc_count *count = &row->counts[event];

	*known = pmc_count_has_value(count);
	*value = (double)pmc_count_value(count) * pmc_event_scale(&stat->view.events[event]);
}

/* The sum over threads. */
static bool waits_of_all(const struct stat_job *stat, bool cumulative, struct live_waits *waits,
			 uint64_t *blocked_ns)
{
	*waits = (struct live_waits){ .known = false };
	*blocked_ns = 0;
	for (unsigned r = 1; r < stat->n_rows; r++) {
		struct live_waits one;
		uint64_t blocked;

		if (!stat_waits_of(stat, &stat->rows[r], cumulative, &one, &blocked))
			continue;
		waits->known = true;
		waits->cpu_ns += one.cpu_ns;
		waits->delay_ns += one.delay_ns;
		waits->voluntary += one.voluntary;
		waits->involuntary += one.involuntary;
		*blocked_ns += blocked;
	}
	return waits->known;
}

bool stat_waits_of(const struct stat_job *stat, const struct stat_row *row, bool cumulative,
		   struct live_waits *waits, uint64_t *blocked_ns)
{
	bool all = cumulative || !row->before.known;
	const struct live_waits *from = all ? &row->begin : &row->before;
	uint64_t since = all ? row->since_ns : stat->before_ns;

	if (row == stat->rows)
		return waits_of_all(stat, cumulative, waits, blocked_ns);
	if (!row->now.known)
		return false;
	if (since < stat->begin_ns)
		since = stat->begin_ns;
	*waits = (struct live_waits){
		.known = true,
		.cpu_ns = pmc_sub_sat(row->now.cpu_ns, from->cpu_ns),
		.delay_ns = pmc_sub_sat(row->now.delay_ns, from->delay_ns),
		.voluntary = pmc_sub_sat(row->now.voluntary, from->voluntary),
		.involuntary = pmc_sub_sat(row->now.involuntary, from->involuntary),
	};
	*blocked_ns = pmc_sub_sat(row->until_ns, since + waits->cpu_ns + waits->delay_ns);
	return true;
}

double stat_cpus(const struct stat_job *stat, const struct stat_row *row, uint64_t ns)
{
	for (unsigned e = 0; ns && e < stat->view.count; e++) {
		const struct pmc_event_def *def = &stat->view.events[e].def;

		if (def->type == PERF_TYPE_SOFTWARE && def->config == PERF_COUNT_SW_TASK_CLOCK &&
		    stat->target != STAT_MACHINE && pmc_count_has_value(&row->counts[e]))
			return (double)pmc_count_value(&row->counts[e]) / (double)ns;
	}
	return -1;
}

/* Real stall events take the place of the lower bound. */
bool stat_shows_metric(const struct stat_job *stat, unsigned metric)
{
	bool stalls = !strncmp(pmc_metrics[metric].name, "stall_", 6);

	if (pmc_metric_is_accounting(metric) || !pmc_metric_applies(metric, &stat->view) ||
	    !(pmc_metrics[metric].table || stalls))
		return false;
	if (pmc_formulas[metric].kind != EXCESS_PCT)
		return true;
	for (unsigned m = 0; m < pmc_n_metrics; m++) {
		struct pmc_metric_events events;

		if (m == metric || strncmp(pmc_metrics[m].name, "stall_", 6) != 0)
			continue;
		pmc_metric_events(m, &stat->view, &events);
		if (events.applies && !stat->view.events[events.a].def.state)
			return false;
	}
	return true;
}

bool stat_metric(const struct stat_job *stat, const struct stat_row *row, unsigned metric,
		 double *value, bool *estimate)
{
	struct pmc_metric_events events;
	struct pmc_ratio ratio = { 0 };

	if (pmc_metric_is_accounting(metric))
		return false;
	pmc_metric_events(metric, &stat->view, &events);
	pmc_ratio_take(metric, &events, &stat->view, row->counts, &ratio);
	*estimate = ratio.state != PMC_RATIO_EXACT;
	return pmc_ratio_value(metric, &ratio, value);
}
