/* SPDX-License-Identifier: MIT */
/*
 * sums.c - events counted in parts: per core type of a hybrid CPU, per CPU of an uncore PMU.
 *
 * An event of one core type stays enabled while its thread is on another type, without running
 * (kernel/events/core.c: it is inactive in the thread's context). So running < enabled does not
 * mean multiplexing as long as the types together ran all the time, and scaling by enabled /
 * running would include time on other types. Events are scaled to the thread's time on their type.
 */
#include "tools/rows/tables.h"
#include "lib/base/number.h"
#include "lib/base/out.h"

#include <string.h>

/* Groups are read one after the other: a difference of 1/1024 is not multiplexing. */
#define SLACK(ns) ((ns) >> 10)

/* Bounds the memory that a forged dump can take. */
#define CPUS_MAX 1024

/* ---- the set ---------------------------------------------------------------------------- */

static void number_cores(struct pmc_p_eventset *set, struct set_slot *slots)
{
	for (unsigned i = 0; i < set->n_parts; i++) {
		const char *type = slots[i].event.core_type;
		unsigned same = 0;

		if (!type[0])
			continue;
		while (same < i && strcmp(slots[same].event.core_type, type) != 0)
			same++;
		slots[i].part.core = same < i ? slots[same].part.core : (uint8_t)++set->n_cores;
	}
}

/* The number of events from `first` on that are one event on different core types or CPUs. */
static unsigned count_parts(const struct set_slot *slots, unsigned n, unsigned first)
{
	const struct pmc_p_event *event = &slots[first].event;
	unsigned end = first + 1;

	for (; end < n; end++) {
		const struct pmc_p_event *next = &slots[end].event;

		if (next->def.position != event->def.position ||
		    strcmp(next->name, event->name) != 0 ||
		    !next->core_type[0] != !event->core_type[0])
			break;
		for (unsigned i = first; i < end; i++)
			if (!strcmp(slots[i].event.core_type, next->core_type) &&
			    !strcmp(slots[i].event.cpus, next->cpus))
				return end - first;
	}
	return end - first;
}

static const char *join_cpus(struct pmc_arena *arena, const struct set_slot *slots, unsigned n)
{
	char text[CPUS_MAX];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	for (unsigned i = 0; i < n; i++)
		pmc_outf(&out, i ? ",%s" : "%s", slots[i].event.cpus);
	return pmc_arena_strndup(arena, text, out.len);
}

/* Inserts the sum of the n events from `slots` on before them. Parts per CPU are not shown. */
static void insert_sum(struct pmc_p_eventset *set, struct set_slot *slots, unsigned left,
		       unsigned n, struct pmc_arena *arena)
{
	struct set_slot *sum = slots;
	unsigned opened = 0;

	memmove(slots + 1, slots, left * sizeof(*slots));
	while (opened < n && slots[1 + opened].part.group == PMC_NO_GROUP)
		opened++;
	sum->event = slots[1 + opened % n].event;
	sum->part = (struct set_part){ .group = PMC_SUM_GROUP, .index = (uint16_t)n };
	if (sum->event.core_type[0]) {
		sum->event.core_type = "";
		sum->event.def.flags |= PMC_EVENT_SUM;
		/* The upper half of config is the PMU of one core type. */
		sum->event.def.config &= UINT32_MAX;
	} else {
		sum->event.cpus = join_cpus(arena, slots + 1, n);
		for (unsigned i = 1; i <= n; i++)
			slots[i].part.hidden = set->has_hidden = true;
	}
	set->n_parts++;
	set->n_sums++;
}

void profile_insert_sums(struct pmc_p_eventset *set, struct set_slot *slots,
			 struct pmc_arena *arena)
{
	number_cores(set, slots);
	for (unsigned i = 0; i < set->n_parts; i++) {
		unsigned n = count_parts(slots, set->n_parts, i);

		if (n < 2)
			continue;
		insert_sum(set, slots + i, set->n_parts - i, n, arena);
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

static void add_groups(const struct pmc_p_eventset *set, const struct pmc_count *counts,
		       struct cores *cores)
{
	bool seen[PMC_EVENTS_MAX] = { false };

	for (unsigned i = 0; i < set->n_parts; i++) {
		const struct pmc_count *count = &counts[i];
		__typeof__(cores->of[0]) *of = &cores->of[set->parts[i].core];
		const unsigned group = set->parts[i].group;

		if (!set->parts[i].core || !count->enabled_ns || seen[group])
			continue;
		seen[group] = of->open = true;
		if (count->enabled_ns > cores->enabled)
			cores->enabled = count->enabled_ns;
		if (count->running_ns > of->most)
			of->most = count->running_ns;
		pmc_add_sat(&of->sum, count->running_ns);
	}
	for (unsigned c = 1; c <= set->n_cores; c++)
		pmc_add_sat(&cores->all, cores->of[c].most);
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

	for (unsigned i = at + 1; i <= at + set->parts[at].index; i++) {
		const struct pmc_count *count = &counts[i];

		if (!pmc_count_has_value(count)) {
			/* A type the thread never ran on does not spoil the sum. */
			if (!missing && !never_there(cores, set->parts[i].core, set->n_cores))
				missing = count;
			continue;
		}
		any = true;
		if (count->state == PMC_SCALED)
			sum.state = PMC_SCALED;
		pmc_add_sat(&sum.raw, count->raw);
		pmc_add_sat(&sum.added, pmc_count_value(count));
		pmc_add_sat(&sum.enabled_ns, count->enabled_ns);
		pmc_add_sat(&sum.running_ns, count->running_ns);
	}
	if (sum.state == PMC_COUNTED)
		sum.added = 0;
	/* A hybrid sum is not unsupported where one type counts the event. */
	if (missing)
		sum = (struct pmc_count){
			.state = any && set->n_cores ? PMC_NOT_COUNTED : missing->state,
			.error = missing->error,
		};
	counts[at] = sum;
}

void profile_sum_counts(const struct pmc_p_eventset *set, struct pmc_count *counts)
{
	struct cores cores = { 0 };
	unsigned shown = 0;

	if (set->n_cores)
		add_groups(set, counts, &cores);
	if (cores.all) {
		share_time(set, &cores);
		for (unsigned i = 0; i < set->n_parts; i++)
			if (set->parts[i].core)
				settle(set, &cores, set->parts[i].core, &counts[i]);
	}
	for (unsigned i = 0; i < set->n_parts; i++)
		if (set->parts[i].group == PMC_SUM_GROUP)
			add_up(set, &cores, i, counts);
	for (unsigned i = 0; set->has_hidden && i < set->n_parts; i++)
		if (!set->parts[i].hidden)
			counts[shown++] = counts[i];
}
