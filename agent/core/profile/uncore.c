/* SPDX-License-Identifier: MIT */
/*
 * uncore.c - MACHINE totals: each event of an uncore PMU once, summed over its CPUs.
 *
 * The event set has such an event once per CPU that represents a part of the machine. If a part is
 * missing, the sum has no value.
 */
#include "agent/core/profile/tables.h"

#include <errno.h>
#include <string.h>

static bool is_same(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a->def.position == b->def.position && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->unit, b->unit) == 0 &&
	       memcmp(&a->def.scale, &b->def.scale, sizeof(a->def.scale)) == 0;
}

/* Bounds the memory that a forged dump can take. */
#define CPUS_MAX 1024

static const char *join(struct pmc_arena *arena, const char *list, const char *more)
{
	size_t len = strlen(list), len_more = strlen(more);
	char *to;

	if (!len)
		return more;
	if (len + len_more > CPUS_MAX)
		return list;
	to = pmc_arena_alloc(arena, len + len_more + 2);
	if (!to)
		return NULL;
	memcpy(to, list, len);
	to[len] = ',';
	memcpy(to + len + 1, more, len_more);
	return to;
}

/* Whether event i is the event before it on another CPU. */
static bool continues(const struct pmc_p_set_view *view, unsigned i)
{
	return i > 0 && is_same(&view->events[i - 1], &view->events[i]);
}

/* The set's events, each once; made once per set. */
static int make_view(struct pmc_arena *arena, struct pmc_p_eventset *set)
{
	struct pmc_p_set_view *view = pmc_arena_alloc(arena, sizeof(*view));
	struct pmc_p_event *events =
		pmc_arena_alloc(arena, (set->view.count + 1) * sizeof(*events));

	if (!view || !events)
		return -ENOMEM;
	view->hash = set->view.hash;
	view->events = events;
	for (unsigned i = 0; i < set->view.count; i++) {
		const struct pmc_p_event *event = &set->view.events[i];
		struct pmc_p_event *last;

		if (!continues(&set->view, i)) {
			events[view->count++] = *event;
			continue;
		}
		last = &events[view->count - 1];
		last->cpus = join(arena, last->cpus, event->cpus);
		if (!last->cpus)
			return -ENOMEM;
	}
	set->machine = view;
	return 0;
}

static void add_count(struct pmc_count *sum, const struct pmc_count *part)
{
	if (!pmc_count_has_value(sum))
		return;
	if (!pmc_count_has_value(part)) {
		*sum = (struct pmc_count){ .state = part->state, .error = part->error };
		return;
	}
	/* add_up() clears `added` if no part was scaled. */
	sum->added += pmc_count_value(part);
	sum->raw += part->raw;
	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
	if (part->state == PMC_SCALED)
		sum->state = PMC_SCALED;
}

static int add_up(struct pmc_arena *arena, struct pmc_p_eventset *set,
		  const struct pmc_count *parts, struct pmc_p_remainder *machine)
{
	struct pmc_count *counts;
	unsigned at = 0;

	if (!set->machine && make_view(arena, set) != 0)
		return -ENOMEM;
	counts = pmc_arena_alloc(arena, (set->machine->count + 1) * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (unsigned i = 0; i < set->view.count; i++) {
		at += i > 0 && !continues(&set->view, i);
		add_count(&counts[at], &parts[i]);
	}
	for (unsigned i = 0; i < set->machine->count; i++)
		if (counts[i].state != PMC_SCALED)
			counts[i].added = 0;
	machine->set = set->machine;
	machine->counts = counts;
	return 0;
}

int profile_sum_uncore(struct pmc_profile *profile)
{
	struct pmc_count parts[PMC_SET_EVENTS_MAX];

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];
		const struct table_frame *total = p->totals[PMC_TOTAL_UNCORE];
		struct pmc_p_eventset *set;
		struct pmc_total_fixed fixed;
		struct pmc_cursor cursor;

		if (!total)
			continue;
		pmc_frame_fixed(&total->frame, &fixed, sizeof(fixed));
		set = profile_find_set(profile, fixed.eventset);
		if (!set)
			continue;
		pmc_cursor_init(&cursor, &total->frame);
		profile_take_counts(set, fixed.n_groups, &cursor, parts);
		if (add_up(&profile->arena, set, parts, &p->pub.machine) != 0)
			return -ENOMEM;
	}
	return 0;
}
