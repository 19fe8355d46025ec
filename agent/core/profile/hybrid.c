/* SPDX-License-Identifier: MIT */
/*
 * hybrid.c - hybrid CPUs: counts per core type scaled to the time on that type, and their sums.
 *
 * An event of one core type stays enabled while its thread is on another type, without running
 * (kernel/events/core.c: it is inactive in the thread's context). So running < enabled does not
 * mean multiplexing as long as the types together ran all the time, and scaling by enabled /
 * running would include time on other types. Events are scaled to the thread's time on their type.
 */
#include "agent/core/profile/tables.h"
#include "agent/core/base/number.h"

#include <string.h>

/* Groups are read one after the other: a difference of 1/1024 is not multiplexing. */
#define SLACK(ns) ((ns) >> 10)

/* ---- the set ---------------------------------------------------------------------------- */

static void number_cores(struct pmc_p_eventset *set, const struct pmc_p_event *events)
{
	for (unsigned i = 0; i < set->view.count; i++) {
		unsigned same = 0;

		if (!events[i].core_type[0])
			continue;
		while (same < i && strcmp(events[same].core_type, events[i].core_type) != 0)
			same++;
		set->core[i] = same < i ? set->core[same] : (uint8_t)++set->n_cores;
	}
}

/* The number of events from `first` on that are one event on different core types. */
static unsigned family(const struct pmc_p_eventset *set, const struct pmc_p_event *events,
		       unsigned first)
{
	unsigned n = 1;

	if (!set->core[first])
		return 0;
	while (first + n < set->view.count && set->core[first + n] &&
	       events[first + n].def.position == events[first].def.position &&
	       strcmp(events[first + n].name, events[first].name) == 0) {
		for (unsigned i = 0; i < n; i++)
			if (set->core[first + i] == set->core[first + n])
				return n;
		n++;
	}
	return n;
}

static void insert_sum(struct pmc_p_eventset *set, struct pmc_p_event *events, unsigned at,
		       unsigned n)
{
	struct pmc_p_event sum = events[at];

	for (unsigned i = at; i < at + n; i++) {
		if (events[i].def.state != PMC_COUNTED || events[i].def.group == PMC_NO_GROUP)
			continue;
		sum = events[i];
		break;
	}
	for (unsigned i = set->view.count++; i > at; i--) {
		events[i] = events[i - 1];
		set->at[i] = set->at[i - 1];
		set->core[i] = set->core[i - 1];
	}
	sum.core_type = "";
	sum.def.flags |= PMC_EVENT_SUM;
	/* The upper half of config is the PMU of one core type. */
	sum.def.config &= UINT32_MAX;
	events[at] = sum;
	set->at[at].group = PMC_SUM_GROUP;
	set->at[at].index = (uint16_t)n;
	set->core[at] = 0;
	set->n_sums++;
}

void profile_core_sums(struct pmc_p_eventset *set, struct pmc_p_event *events)
{
	number_cores(set, events);
	for (unsigned i = 0; i < set->view.count; i++) {
		unsigned n = family(set, events, i);

		if (n < 2)
			continue;
		insert_sum(set, events, i, n);
		i += n;
	}
}

/* ---- times ------------------------------------------------------------------------------ */

struct cores {
	uint64_t enabled; /* the longest of any group */
	uint64_t all;	  /* sum of most[] */
	struct {
		uint64_t most, sum; /* running time of the longest group; of all groups */
		uint64_t time;	    /* estimated time on this type */
		bool open;
	} of[PMC_EVENTS_MAX + 1];
};

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void add_group(struct cores *cores, unsigned core, const struct pmc_count *count)
{
	__typeof__(cores->of[0]) *of = &cores->of[core];

	of->open = true;
	if (count->enabled_ns > cores->enabled)
		cores->enabled = count->enabled_ns;
	if (count->running_ns > of->most)
		of->most = count->running_ns;
	if (__builtin_add_overflow(of->sum, count->running_ns, &of->sum))
		of->sum = UINT64_MAX;
}

static void add_groups(const struct pmc_p_eventset *set, const struct pmc_count *counts,
		       struct cores *cores)
{
	bool seen[PMC_EVENTS_MAX] = { false };

	for (unsigned i = 0; i < set->view.count; i++) {
		unsigned group = set->at[i].group;

		if (!set->core[i] || !counts[i].enabled_ns || seen[group])
			continue;
		seen[group] = true;
		add_group(cores, set->core[i], &counts[i]);
	}
	for (unsigned c = 1; c <= set->n_cores; c++)
		if (__builtin_add_overflow(cores->all, cores->of[c].most, &cores->all))
			cores->all = UINT64_MAX;
}

/*
 * The time on each type. Running times of groups that take turns add up to it; of groups that run
 * together, to more, so it is limited to the time that the other types leave. If there are groups
 * of all types, the times are scaled to add up to the enabled time.
 */
static void share_time(const struct pmc_p_eventset *set, struct cores *cores)
{
	const uint64_t enabled = cores->enabled;
	bool whole = set->n_sums > 0, exact = cores->all + SLACK(enabled) >= enabled;
	unsigned __int128 sum = 0;

	for (unsigned c = 1; c <= set->n_cores; c++) {
		__typeof__(cores->of[0]) *of = &cores->of[c];
		uint64_t others = cores->all - of->most;

		of->time = exact ? of->most : at_most(of->sum, pmc_sub_sat(enabled, others));
		sum += of->time;
		whole = whole && of->open;
	}
	for (unsigned c = 1; c <= set->n_cores && whole && !exact && sum; c++) {
		__typeof__(cores->of[0]) *of = &cores->of[c];
		uint64_t time = (uint64_t)((unsigned __int128)of->time * enabled / sum);

		of->time = time > of->most ? time : of->most;
	}
}

/* Whether the thread was on other types all the time: then this type counted 0. */
static bool never_there(const struct cores *cores, unsigned core, unsigned n)
{
	uint64_t sum = 0;

	if (!cores->of[core].open || cores->of[core].most)
		return false;
	for (unsigned c = 1; c <= n; c++)
		sum += at_most(cores->of[c].sum, cores->enabled);
	return sum && sum + SLACK(cores->enabled) >= cores->enabled;
}

/* ---- counts ----------------------------------------------------------------------------- */

static void settle(const struct pmc_p_eventset *set, const struct cores *cores, unsigned core,
		   struct pmc_count *count)
{
	uint64_t time = cores->of[core].time;

	if (!count->enabled_ns)
		return;
	if (never_there(cores, core, set->n_cores)) {
		*count = (struct pmc_count){ .state = PMC_COUNTED };
	} else if (count->running_ns) {
		bool all = count->running_ns + SLACK(time) >= time;

		count->enabled_ns = all ? count->running_ns : time;
		count->state = all ? PMC_COUNTED : PMC_SCALED;
	}
}

static void add_up(const struct pmc_p_eventset *set, const struct cores *cores, unsigned at,
		   struct pmc_count *counts)
{
	const struct pmc_count *missing = NULL;
	struct pmc_count sum = { .state = PMC_COUNTED };
	bool any = false;

	for (unsigned i = at + 1; i <= at + set->at[at].index; i++) {
		const struct pmc_count *count = &counts[i];

		if (!pmc_count_has_value(count)) {
			/* A type the thread never ran on does not spoil the sum. */
			if (!missing && !never_there(cores, set->core[i], set->n_cores))
				missing = count;
			continue;
		}
		any = true;
		if (count->state == PMC_SCALED)
			sum.state = PMC_SCALED;
		sum.raw += count->raw;
		sum.added += pmc_count_value(count);
		sum.enabled_ns += count->enabled_ns;
		sum.running_ns += count->running_ns;
	}
	if (sum.state == PMC_COUNTED)
		sum.added = 0;
	if (missing)
		sum = (struct pmc_count){ .state = any ? PMC_NOT_COUNTED : missing->state,
					  .error = missing->error };
	counts[at] = sum;
}

void profile_core_counts(const struct pmc_p_eventset *set, struct pmc_count *counts)
{
	struct cores cores = { 0 };

	add_groups(set, counts, &cores);
	if (cores.all) {
		share_time(set, &cores);
		for (unsigned i = 0; i < set->view.count; i++)
			if (set->core[i])
				settle(set, &cores, set->core[i], &counts[i]);
	}
	for (unsigned i = 0; i < set->view.count; i++)
		if (set->at[i].group == PMC_SUM_GROUP)
			add_up(set, &cores, i, counts);
}
