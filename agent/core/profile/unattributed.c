/* SPDX-License-Identifier: MIT */
/*
 * unattributed.c - unseen work, by subtraction: what inherit groups counted and no row explains.
 *
 * The exec group of a job's first process counts every exec'd descendant, at all depths; rows of
 * each process that it covers are taken off once, wherever in the tree they are. A job's first
 * process that exec'd starts new totals: a process belongs to the nearest first one above it.
 */
#include "agent/core/profile/tables.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <string.h>

/* perf_event_attr of task-clock: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK. */
#define SOFTWARE   1
#define TASK_CLOCK 1

/* What stands for an event of the total in a row's set. */
#define BY_CPU_CLOCK (-1) /* the row's CPU time */
#define BY_NOTHING   (-2) /* rows of this set do not count it: their work stays unexplained */
#define BY_UNKNOWN   (-3) /* the row's set is lost */

struct rest {
	const struct pmc_p_set_view *set; /* NULL: no such total */
	struct pmc_count *counts;
	uint64_t *taken; /* per event: what rows explain */
	uint64_t cpu_taken; /* CPU time of those rows, since their exec */
	bool forks;	 /* forked children are in it, and whatever they exec'd */
	/* How the last row's set maps onto this one. */
	const struct pmc_p_set_view *mapped;
	uint64_t mapped_hash;
	bool is_mapped;
	int map[PMC_SET_EVENTS_MAX];
};

struct rests {
	struct rest threads, execs;
};

static bool same_event(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a->def.type == b->def.type && a->def.config == b->def.config &&
	       a->def.config1 == b->def.config1 && a->def.config2 == b->def.config2 &&
	       a->def.config3 == b->def.config3 && a->def.scope == b->def.scope &&
	       strcmp(a->core_type, b->core_type) == 0;
}

/* The set's event that counts the same, the n-th one for the n-th of equal ones; -1: none. */
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

static void map_set(struct rest *rest, const struct pmc_p_thread *row)
{
	if (rest->is_mapped && rest->mapped == row->set && rest->mapped_hash == row->fixed.eventset)
		return;
	rest->is_mapped = true;
	rest->mapped = row->set;
	rest->mapped_hash = row->fixed.eventset;
	for (unsigned i = 0; i < rest->set->count; i++) {
		const struct pmc_event_def *def = &rest->set->events[i].def;
		int at = row->set ? find_event(row->set, rest->set, i) : -1;

		if (at >= 0)
			rest->map[i] = at;
		else if (def->type == SOFTWARE && def->config == TASK_CLOCK)
			rest->map[i] = BY_CPU_CLOCK;
		else if (!row->set && row->fixed.eventset)
			rest->map[i] = BY_UNKNOWN;
		else
			rest->map[i] = BY_NOTHING;
	}
}

static void spoil(struct pmc_count *count, uint32_t reason)
{
	if (!pmc_count_has_value(count))
		return;
	count->state = PMC_NOT_COUNTED;
	count->error = reason;
	count->raw = 0;
}

static void take(struct rest *rest, unsigned event, uint64_t value)
{
	if (__builtin_add_overflow(rest->taken[event], value, &rest->taken[event]))
		rest->taken[event] = UINT64_MAX;
}

/* CPU time that an inherit group can have seen: from when the agent was there. */
static uint64_t row_cpu_ns(const struct pmc_p_thread *row)
{
	uint64_t before = row->process->fixed.pre_cpu_ns;

	if (row->fixed.flags & (PMC_THREAD_ADOPTED | PMC_THREAD_NO_CPU))
		return 0;
	if (!(row->fixed.flags & PMC_THREAD_MAIN))
		return row->fixed.cpu_ns;
	return pmc_sub_sat(row->fixed.cpu_ns, before);
}

static void take_row(struct rest *rest, const struct pmc_p_thread *row)
{
	if (!rest->set)
		return;
	if (!(row->fixed.flags & PMC_THREAD_NO_CPU))
		rest->cpu_taken += row->fixed.cpu_ns;
	map_set(rest, row);
	for (unsigned i = 0; i < rest->set->count; i++) {
		const struct pmc_count *count;

		switch (rest->map[i]) {
		case BY_CPU_CLOCK:
			take(rest, i, row_cpu_ns(row));
			continue;
		case BY_NOTHING:
			continue;
		case BY_UNKNOWN:
			spoil(&rest->counts[i], PMC_REASON_SET_LOST);
			continue;
		default:
			break;
		}
		count = &row->counts[rest->map[i]];
		if (count->state == PMC_SCALED)
			spoil(&rest->counts[i], PMC_REASON_SCALED);
		else if (count->state == PMC_COUNTED)
			take(rest, i, count->raw);
	}
}

/* Of a group that takes in exec'd descendants too: what the exec group counted of them. */
static void take_total(struct rest *rest, const struct rest *other)
{
	for (unsigned i = 0; i < rest->set->count; i++) {
		int at = find_event(other->set, rest->set, i);

		if (at < 0 || !pmc_count_has_value(&other->counts[at]))
			spoil(&rest->counts[i],
			      at < 0 ? PMC_REASON_SET_LOST : other->counts[at].error);
		else
			take(rest, i, other->counts[at].raw);
	}
}

/* An exec group that nobody's exec ever enabled counted all there was: nothing. */
static void nobody_execd(struct rest *rest)
{
	for (unsigned i = 0; i < rest->set->count; i++) {
		const struct pmc_event_def *def = &rest->set->events[i].def;
		struct pmc_count *count = &rest->counts[i];

		if (def->state == PMC_COUNTED && def->group != PMC_NO_GROUP &&
		    count->state == PMC_NOT_COUNTED && count->error == PMC_REASON_NOT_STARTED) {
			count->state = PMC_COUNTED;
			count->error = 0;
		}
	}
}

static int open_rest(struct pmc_profile *profile, struct rest *rest,
		     const struct table_total *total)
{
	struct pmc_p_eventset *set;

	if (!total->known)
		return 0;
	set = profile_find_set(profile, total->fixed.eventset);
	if (!set)
		return 0;
	rest->counts =
		pmc_arena_alloc(&profile->arena, (set->view.count + 1) * sizeof(*rest->counts));
	rest->taken =
		pmc_arena_alloc(&profile->arena, (set->view.count + 1) * sizeof(*rest->taken));
	if (!rest->counts || !rest->taken)
		return -ENOMEM;
	if (profile_fill_counts(set, total->fixed.n_groups, total->var, total->var_len,
				rest->counts) != 0)
		return 0;
	rest->set = &set->view;
	rest->forks = total->fixed.flags & PMC_TOTAL_WITH_FORKS;
	if (total->fixed.kind == PMC_TOTAL_EXEC)
		nobody_execd(rest);
	for (unsigned i = 0; i < set->view.count; i++)
		if (rest->counts[i].state == PMC_SCALED)
			spoil(&rest->counts[i], PMC_REASON_SCALED);
	return 0;
}

/* Rows are read before the total, but clocks tick between: a little less than 0 is 0. */
static void close_rest(const struct rest *rest, struct pmc_p_remainder *remainder)
{
	if (!rest->set)
		return;
	for (unsigned i = 0; i < rest->set->count; i++) {
		const struct pmc_event_def *def = &rest->set->events[i].def;
		struct pmc_count *count = &rest->counts[i];

		if (!pmc_count_has_value(count))
			continue;
		if (def->type == SOFTWARE && def->config == TASK_CLOCK && !remainder->has_cpu) {
			remainder->has_cpu = true;
			remainder->cpu_ns = pmc_sub_sat(count->raw, rest->cpu_taken);
		}
		count->raw = pmc_sub_sat(count->raw, rest->taken[i]);
	}
	remainder->set = rest->set;
	remainder->counts = rest->counts;
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

/* Where the chain of parents is broken: the job's first process that began last before it on that
 * host. Processes are in order of host and start. */
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
			table = NULL; /* its memory is the arena's */
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

static int open_rests(struct pmc_profile *profile, struct table_process *p)
{
	int error;

	p->rests = pmc_arena_alloc(&profile->arena, sizeof(*p->rests));
	if (!p->rests)
		return -ENOMEM;
	error = open_rest(profile, &p->rests->threads, &p->totals[PMC_TOTAL_THREADS]);
	if (error)
		return error;
	/* Without its PROCESS frame nobody knows which rows are of its tree. */
	if (is_first(p))
		return open_rest(profile, &p->rests->execs, &p->totals[PMC_TOTAL_EXEC]);
	if (p->rests->threads.forks)
		p->rests->threads.set = NULL;
	return 0;
}

void profile_take_row(struct table_process *process, const struct pmc_p_thread *row)
{
	const bool covered = process->pub.fixed.flags & PMC_PROCESS_COVERED;
	struct rests *rests = process->root ? process->root->rests : NULL;

	if (process->rests)
		take_row(&process->rests->threads, row);
	if (!rests || process->root == process)
		return;
	if (covered)
		take_row(&rests->execs, row);
	/* What the exec group counted of an old kernel's thread group comes off as a whole. */
	if (rests->threads.forks && (!covered || !rests->execs.set))
		take_row(&rests->threads, row);
}

int profile_open_rests(struct pmc_profile *profile)
{
	int error = find_earlier(profile);

	for (uint64_t i = 0; !error && i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];

		p->rooted = false;
		if (p->totals[PMC_TOTAL_THREADS].known || p->totals[PMC_TOTAL_EXEC].known)
			error = open_rests(profile, p);
	}
	for (uint64_t i = 0; !error && i < profile->n_processes; i++)
		find_root((struct table_process *)profile->processes[i]);
	return error;
}

void profile_close_rests(struct pmc_profile *profile)
{
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];

		if (!p->rests)
			continue;
		if (p->rests->threads.set && p->rests->threads.forks && p->rests->execs.set)
			take_total(&p->rests->threads, &p->rests->execs);
		close_rest(&p->rests->threads, &p->pub.unattributed);
		close_rest(&p->rests->execs, &p->pub.descendants);
	}
}
