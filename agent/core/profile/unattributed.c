/* SPDX-License-Identifier: MIT */
/*
 * unattributed.c - work outside the rows: the totals of inherit groups minus the rows they cover.
 *
 * The exec group of a job's first process counts exec'd descendants at all depths; the rows of each
 * covered process are subtracted once, wherever it is in the tree. An exec of the first process
 * starts new totals: a process belongs to the nearest first process above it.
 */
#include "agent/core/profile/tables.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <string.h>

/* perf_event_attr of task-clock: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK. */
#define SOFTWARE   1
#define TASK_CLOCK 1

/* In place of the index of an event in a row's set. */
#define BY_CPU_CLOCK (-1) /* the row's CPU time */
#define BY_NOTHING   (-2) /* rows of this set do not count it: their work stays in the total */
#define BY_UNKNOWN   (-3) /* the row's set is lost */

/* A total, and what is subtracted from it. */
struct open_total {
	const struct pmc_p_set_view *set; /* NULL: no such total */
	struct pmc_count *counts;
	uint64_t *subtracted;	 /* per event: sum of the rows */
	uint64_t cpu_subtracted; /* CPU time of those rows, since their exec */
	bool forks; /* the total includes forked children and their exec'd descendants */
	/* The events of the last row's set for those of this one. */
	const struct pmc_p_set_view *mapped;
	uint64_t mapped_hash;
	bool is_mapped;
	int map[PMC_SET_EVENTS_MAX];
};

struct open_totals {
	struct open_total threads, execs;
};

static bool same_event(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a->def.type == b->def.type && a->def.config == b->def.config &&
	       a->def.config1 == b->def.config1 && a->def.config2 == b->def.config2 &&
	       a->def.config3 == b->def.config3 && a->def.scope == b->def.scope &&
	       strcmp(a->core_type, b->core_type) == 0;
}

/* The index in `set` of the same event, the n-th of equal ones for the n-th; -1: none. */
static int find_event(const struct pmc_p_set_view *set, const struct pmc_p_set_view *of,
		      unsigned event)
{
	unsigned nth = 0;

	if (set->hash == of->hash)
		return (int)event;
	for (unsigned i = 0; i < event; i++)
		nth += same_event(&of->events[i], &of->events[event]);
	for (unsigned i = 0; i < set->count; i++)
		if (same_event(&set->events[i], &of->events[event]) && nth-- == 0)
			return (int)i;
	return -1;
}

static void map_set(struct open_total *total, const struct pmc_p_thread *row)
{
	if (total->is_mapped && total->mapped == row->set &&
	    total->mapped_hash == row->fixed.eventset)
		return;
	total->is_mapped = true;
	total->mapped = row->set;
	total->mapped_hash = row->fixed.eventset;
	for (unsigned i = 0; i < total->set->count; i++) {
		const struct pmc_event_def *def = &total->set->events[i].def;
		int at = row->set ? find_event(row->set, total->set, i) : -1;

		if (at >= 0)
			total->map[i] = at;
		else if (def->type == SOFTWARE && def->config == TASK_CLOCK)
			total->map[i] = BY_CPU_CLOCK;
		else if (!row->set && row->fixed.eventset)
			total->map[i] = BY_UNKNOWN;
		else
			total->map[i] = BY_NOTHING;
	}
}

static void invalidate(struct pmc_count *count, uint32_t reason)
{
	if (!pmc_count_has_value(count))
		return;
	count->state = PMC_NOT_COUNTED;
	count->error = reason;
	count->raw = 0;
}

static void subtract(struct open_total *total, unsigned event, uint64_t value)
{
	if (__builtin_add_overflow(total->subtracted[event], value, &total->subtracted[event]))
		total->subtracted[event] = UINT64_MAX;
}

/* CPU time that an inherit group can have counted: since the agent started. */
static uint64_t row_cpu_ns(const struct pmc_p_thread *row)
{
	uint64_t before = row->process->fixed.pre_cpu_ns;

	if (row->fixed.flags & (PMC_THREAD_ADOPTED | PMC_THREAD_NO_CPU))
		return 0;
	if (!(row->fixed.flags & PMC_THREAD_MAIN))
		return row->fixed.cpu_ns;
	return pmc_sub_sat(row->fixed.cpu_ns, before);
}

static void subtract_row(struct open_total *total, const struct pmc_p_thread *row)
{
	if (!total->set)
		return;
	if (!(row->fixed.flags & PMC_THREAD_NO_CPU))
		total->cpu_subtracted += row->fixed.cpu_ns;
	map_set(total, row);
	for (unsigned i = 0; i < total->set->count; i++) {
		const struct pmc_count *count;

		switch (total->map[i]) {
		case BY_CPU_CLOCK:
			subtract(total, i, row_cpu_ns(row));
			continue;
		case BY_NOTHING:
			continue;
		case BY_UNKNOWN:
			invalidate(&total->counts[i], PMC_REASON_SET_LOST);
			continue;
		default:
			break;
		}
		count = &row->counts[total->map[i]];
		if (count->state == PMC_SCALED)
			invalidate(&total->counts[i], PMC_REASON_SCALED);
		else if (count->state == PMC_COUNTED)
			subtract(total, i, count->raw);
	}
}

/* For a thread group that includes exec'd descendants: subtracts what the exec group counted. */
static void subtract_execs(struct open_total *total, const struct open_total *other)
{
	for (unsigned i = 0; i < total->set->count; i++) {
		int at = find_event(other->set, total->set, i);

		if (at < 0 || !pmc_count_has_value(&other->counts[at]))
			invalidate(&total->counts[i],
				   at < 0 ? PMC_REASON_SET_LOST : other->counts[at].error);
		else
			subtract(total, i, other->counts[at].raw);
	}
}

/* An exec group that no exec enabled is a count of 0. */
static void count_no_exec(struct open_total *total)
{
	for (unsigned i = 0; i < total->set->count; i++) {
		const struct pmc_event_def *def = &total->set->events[i].def;
		struct pmc_count *count = &total->counts[i];

		if (def->state == PMC_COUNTED && def->group != PMC_NO_GROUP &&
		    count->state == PMC_NOT_COUNTED && count->error == PMC_REASON_NOT_STARTED) {
			count->state = PMC_COUNTED;
			count->error = 0;
		}
	}
}

static int open_total(struct pmc_profile *profile, struct open_total *total,
		      const struct table_total *frame)
{
	struct pmc_p_eventset *set;
	unsigned n;

	if (!frame->held.var)
		return 0;
	set = profile_find_set(profile, frame->fixed.eventset);
	if (!set)
		return 0;
	n = set->view.count;
	total->counts = pmc_arena_alloc(&profile->arena, (n + 1) * sizeof(*total->counts));
	total->subtracted = pmc_arena_alloc(&profile->arena, (n + 1) * sizeof(*total->subtracted));
	if (!total->counts || !total->subtracted)
		return -ENOMEM;
	if (profile_fill_counts(set, frame->fixed.n_groups, frame->held.var, frame->held.var_len,
				total->counts) != 0)
		return 0;
	total->set = &set->view;
	total->forks = frame->fixed.flags & PMC_TOTAL_WITH_FORKS;
	if (frame->fixed.kind == PMC_TOTAL_EXEC)
		count_no_exec(total);
	for (unsigned i = 0; i < n; i++)
		if (total->counts[i].state == PMC_SCALED)
			invalidate(&total->counts[i], PMC_REASON_SCALED);
	return 0;
}

/* A difference below 0 is 0: clocks run on between the readings of rows and total. */
static void close_total(const struct open_total *total, struct pmc_p_remainder *remainder)
{
	if (!total->set)
		return;
	for (unsigned i = 0; i < total->set->count; i++) {
		const struct pmc_event_def *def = &total->set->events[i].def;
		struct pmc_count *count = &total->counts[i];

		if (!pmc_count_has_value(count))
			continue;
		if (def->type == SOFTWARE && def->config == TASK_CLOCK && !remainder->has_cpu) {
			remainder->has_cpu = true;
			remainder->cpu_ns = pmc_sub_sat(count->raw, total->cpu_subtracted);
		}
		count->raw = pmc_sub_sat(count->raw, total->subtracted[i]);
	}
	remainder->set = total->set;
	remainder->counts = total->counts;
}

static bool is_first(const struct table_process *p)
{
	return p->pub.known && (p->pub.fixed.flags & PMC_PROCESS_FIRST);
}

static bool same_job(const struct table_process *a, const struct table_process *b)
{
	return a->pub.known && b->pub.known &&
	       memcmp(a->pub.fixed.job, b->pub.fixed.job, sizeof(a->pub.fixed.job)) == 0;
}

/* For a broken chain of parents: the job's first process that started last before each process on
 * its host. Processes are in order of host and start. */
static int find_earlier(struct pmc_profile *profile)
{
	struct pmc_arena *arena = &profile->arena;
	struct running {
		struct table_process *first;
		const uint8_t *job;
		UT_hash_handle hh;
	} *table = NULL, *row;
	const char *host = "";

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];

		if (!p->pub.known)
			continue;
		if (strcmp(p->pub.host, host) != 0) {
			host = p->pub.host;
			table = NULL;
		}
		HASH_FIND(hh, table, p->pub.fixed.job, sizeof(p->pub.fixed.job), row);
		p->earlier = row ? row->first : NULL;
		if (!is_first(p))
			continue;
		if (!row) {
			row = pmc_arena_alloc(arena, sizeof(*row));
			if (!row)
				return -ENOMEM;
			row->job = p->pub.fixed.job;
			HASH_ADD_KEYPTR(hh, table, row->job, sizeof(p->pub.fixed.job), row);
			if (arena->failed)
				return -ENOMEM;
		}
		row->first = p;
	}
	return 0;
}

static void find_root(struct table_process *start)
{
	struct table_process *p = start, *root, *up;

	for (;;) {
		if (p->rooted || is_first(p)) {
			root = p->rooted ? p->root : p;
			break;
		}
		up = (struct table_process *)p->pub.parent;
		if (!up || !same_job(p, up)) {
			root = p->earlier;
			break;
		}
		p = up;
	}
	for (up = p, p = start;; p = (struct table_process *)p->pub.parent) {
		p->root = root;
		p->rooted = true;
		if (p == up)
			break;
	}
}

static int open_totals_of(struct pmc_profile *profile, struct table_process *p)
{
	int error;

	p->open = pmc_arena_alloc(&profile->arena, sizeof(*p->open));
	if (!p->open)
		return -ENOMEM;
	error = open_total(profile, &p->open->threads, &p->totals[PMC_TOTAL_THREADS]);
	if (error)
		return error;
	/* Without a PROCESS frame the rows of its tree are not known. */
	if (is_first(p))
		return open_total(profile, &p->open->execs, &p->totals[PMC_TOTAL_EXEC]);
	if (p->open->threads.forks)
		p->open->threads.set = NULL;
	return 0;
}

void profile_subtract_row(struct table_process *process, const struct pmc_p_thread *row)
{
	const bool covered = process->pub.fixed.flags & PMC_PROCESS_COVERED;
	struct open_totals *open = process->root ? process->root->open : NULL;

	if (process->open)
		subtract_row(&process->open->threads, row);
	if (!open || process->root == process)
		return;
	if (covered)
		subtract_row(&open->execs, row);
	/* profile_close_totals() subtracts the exec group's total from such a thread group. */
	if (open->threads.forks && (!covered || !open->execs.set))
		subtract_row(&open->threads, row);
}

int profile_open_totals(struct pmc_profile *profile)
{
	int error = find_earlier(profile);

	for (uint64_t i = 0; !error && i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];

		p->rooted = false;
		if (p->totals[PMC_TOTAL_THREADS].held.var || p->totals[PMC_TOTAL_EXEC].held.var)
			error = open_totals_of(profile, p);
	}
	for (uint64_t i = 0; !error && i < profile->n_processes; i++)
		find_root((struct table_process *)profile->processes[i]);
	return error;
}

void profile_close_totals(struct pmc_profile *profile)
{
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];

		if (!p->open)
			continue;
		if (p->open->threads.set && p->open->threads.forks && p->open->execs.set)
			subtract_execs(&p->open->threads, &p->open->execs);
		close_total(&p->open->threads, &p->pub.unattributed);
		close_total(&p->open->execs, &p->pub.descendants);
	}
}
