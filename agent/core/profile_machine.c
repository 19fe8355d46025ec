/* SPDX-License-Identifier: MIT */
/*
 * profile_machine.c - what MACHINE totals say: each event once, its CPUs added up.
 *
 * An event set has such an event once for every CPU that stands for a part of the machine. A sum
 * that lacks a part is no sum of the machine.
 */
#include "agent/core/profile_tables.h"

#include <errno.h>
#include <string.h>

static bool is_same(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a->def.position == b->def.position && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->unit, b->unit) == 0 &&
	       memcmp(&a->def.scale, &b->def.scale, sizeof(a->def.scale)) == 0;
}

static const char *join(struct pmc_arena *arena, const char *list, const char *more)
{
	size_t len = strlen(list), len_more = strlen(more);
	char *to;

	if (!len)
		return more;
	to = pmc_arena_alloc(arena, len + len_more + 2);
	if (!to)
		return NULL;
	memcpy(to, list, len);
	to[len] = ',';
	memcpy(to + len + 1, more, len_more);
	return to;
}

static void add_count(struct pmc_count *sum, const struct pmc_count *part)
{
	if (!pmc_count_has_value(sum))
		return;
	if (!pmc_count_has_value(part)) {
		*sum = (struct pmc_count){ .state = part->state, .error = part->error };
		return;
	}
	/* Until the last is in, `added` is the value whatever the state. */
	sum->added += pmc_count_value(part);
	sum->raw += part->raw;
	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
	if (part->state == PMC_SCALED)
		sum->state = PMC_SCALED;
}

static int add_up(struct pmc_arena *arena, const struct pmc_p_eventset *set,
		  const struct pmc_count *parts, struct pmc_p_remainder *machine)
{
	struct pmc_p_set_view *view = pmc_arena_alloc(arena, sizeof(*view));
	struct pmc_p_event *events =
		pmc_arena_alloc(arena, (set->view.count + 1) * sizeof(*events));
	struct pmc_count *counts = pmc_arena_alloc(arena, (set->view.count + 1) * sizeof(*counts));

	if (!view || !events || !counts)
		return -ENOMEM;
	view->hash = set->view.hash;
	view->events = events;
	for (unsigned i = 0; i < set->view.count; i++) {
		const struct pmc_p_event *event = &set->view.events[i];
		unsigned at = view->count ? view->count - 1 : 0;

		if (!view->count || !is_same(&events[at], event)) {
			at = view->count++;
			events[at] = *event;
			events[at].cpus = "";
		}
		events[at].cpus = join(arena, events[at].cpus, event->cpus);
		if (!events[at].cpus)
			return -ENOMEM;
		add_count(&counts[at], &parts[i]);
	}
	for (unsigned i = 0; i < view->count; i++)
		if (counts[i].state != PMC_SCALED)
			counts[i].added = 0;
	machine->set = view;
	machine->counts = counts;
	return 0;
}

int profile_machine(struct pmc_profile *profile)
{
	struct pmc_count parts[PMC_SET_EVENTS_MAX];

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *p = (struct table_process *)profile->processes[i];
		const struct table_total *total = &p->totals[PMC_TOTAL_MACHINE];
		const struct pmc_p_eventset *set =
			total->known ? profile_find_set(profile, total->fixed.eventset) : NULL;

		if (!set || profile_fill_counts(set, total->fixed.n_groups, total->var,
						total->var_len, parts) != 0)
			continue;
		if (add_up(&profile->arena, set, parts, &p->pub.machine) != 0)
			return -ENOMEM;
	}
	return 0;
}
