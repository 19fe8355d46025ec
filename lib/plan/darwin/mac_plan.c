/* SPDX-License-Identifier: MIT */
/* mac_plan.c - which events macOS counts for each thread; see mac_plan.h. */
#include "lib/plan/mac_plan.h"
#include "lib/dump/frame.h"

#include <errno.h>
#include <string.h>

/* The events while they are collected, in the user's order. */
struct making {
	struct pmc_mac *mac;
	struct pmc_arena *arena;
	struct pmc_planned events[PMC_EVENTS_MAX];
	struct pmc_mac_source sources[PMC_EVENTS_MAX];
	unsigned n;
	bool overflow;
};

static enum pmc_state state_of(uint32_t reason)
{
	switch (reason) {
	case 0:
		return PMC_COUNTED;
	case PMC_REASON_CONFLICT:
	case PMC_REASON_NO_KPERF:
		return PMC_NOT_COUNTED;
	case PMC_REASON_NO_COUNTERS:
	case PMC_REASON_NO_EVENT:
	case PMC_REASON_NO_SOURCE:
		return PMC_NOT_SUPPORTED;
	default:
		return pmc_plan_refusal((int)reason);
	}
}

void pmc_mac_refuse(struct pmc_planned *planned, uint32_t reason)
{
	planned->group = PMC_NO_GROUP;
	planned->state = (uint8_t)state_of(reason);
	planned->error = (int)reason;
}

/* The kernel adds up user and kernel mode. kperf counts user mode or all modes. */
static bool splits_modes(const struct pmc_event *event)
{
	return event->asked_scope && (event->exclude_kernel || event->exclude_user);
}

static struct pmc_planned *add(struct making *making, const struct pmc_event *event, int kind,
			       unsigned index)
{
	struct pmc_planned *planned = &making->events[making->n];

	if (making->n == PMC_EVENTS_MAX) {
		making->overflow = true;
		return NULL;
	}
	making->sources[making->n++] = (struct pmc_mac_source){ kind, index };
	*planned = (struct pmc_planned){ .event = *event, .scope = PMC_SCOPE_ALL };
	if (splits_modes(event))
		planned->scope = event->exclude_user ? PMC_SCOPE_KERNEL : PMC_SCOPE_USER;
	return planned;
}

int pmc_mac_kind(const struct pmc_event *event)
{
	if (event->type == PMC_TYPE_KPEP)
		return splits_modes(event) && event->exclude_user ? -1 : PMC_MAC_KPEP;
	if (event->type == PERF_TYPE_HARDWARE && !splits_modes(event))
		return event->config == PERF_COUNT_HW_CPU_CYCLES   ? PMC_MAC_CYCLES :
		       event->config == PERF_COUNT_HW_INSTRUCTIONS ? PMC_MAC_INSTRUCTIONS :
								     -1;
	return pmc_event_is_clock(event) ? PMC_MAC_CLOCK : -1;
}

static const char *level_name(struct making *making, unsigned level)
{
	const char *name = making->mac->calls->level_name(level);
	char number[] = "level0";

	number[5] = (char)('0' + level);
	return pmc_arena_strdup(making->arena, name && *name ? name : number);
}

static void add_counts(struct making *making, const struct pmc_event *event, int kind)
{
	const struct pmc_mac *mac = making->mac;
	unsigned n = mac->levels > 1 ? mac->levels : 1;
	const uint32_t reason = mac->no_counts;

	for (unsigned i = 0; i < (reason ? 1 : n); i++) {
		struct pmc_planned *planned = add(making, event, kind, i);

		if (planned && reason)
			pmc_mac_refuse(planned, reason);
		else if (planned && n > 1)
			planned->event.core_type = level_name(making, i);
	}
}

static void add_event(struct making *making, const struct pmc_event *event)
{
	const int kind = pmc_mac_kind(event);
	struct pmc_planned *planned;

	if (kind == PMC_MAC_CYCLES || kind == PMC_MAC_INSTRUCTIONS) {
		add_counts(making, event, kind);
		return;
	}
	planned = add(making, event, kind < 0 ? PMC_MAC_CLOCK : kind, 0);
	if (planned && kind < 0)
		pmc_mac_refuse(planned, PMC_REASON_NO_SOURCE);
}

/* Programs the events of kperf, and refuses those that it does not count. */
static int open_kpep(struct making *making, bool attach)
{
	struct pmc_mac_event events[PMC_EVENTS_MAX];
	unsigned at[PMC_EVENTS_MAX], n = 0, index = 0;

	for (unsigned i = 0; i < making->n; i++) {
		const struct pmc_event *event = &making->events[i].event;

		if (making->sources[i].kind != PMC_MAC_KPEP)
			continue;
		/* The name without modifiers. */
		events[n].name =
			pmc_arena_strndup(making->arena, event->name, strcspn(event->name, ":"));
		events[n].user_only = event->exclude_kernel;
		at[n++] = i;
	}
	if (!n)
		return 0;
	if (making->arena->failed)
		return -ENOMEM;
	pmc_mac_kpc_open(making->mac, events, n, attach);
	for (unsigned i = 0; i < n; i++) {
		if (events[i].reason)
			pmc_mac_refuse(&making->events[at[i]], events[i].reason);
		else
			making->sources[at[i]].index = index++;
	}
	return 0;
}

static bool takes(const struct making *making, unsigned i, bool kpep)
{
	return making->events[i].group != PMC_NO_GROUP &&
	       (making->sources[i].kind == PMC_MAC_KPEP) == kpep;
}

/* Moves the events into the plan: the groups first, then what is not counted. */
static void order(const struct making *making, struct pmc_mac_plan *to)
{
	struct pmc_plan *plan = &to->plan;
	unsigned at = 0;

	to->kpep_group = ~0u;
	for (int kpep = 0; kpep < 2; kpep++) {
		unsigned first = at;

		for (unsigned i = 0; i < making->n; i++) {
			if (!takes(making, i, kpep))
				continue;
			to->sources[at] = making->sources[i];
			plan->events[at] = making->events[i];
			plan->hardware |= pmc_event_needs_pmu(&making->events[i].event);
			plan->events[at++].group = (uint16_t)plan->groups;
		}
		if (at == first)
			continue;
		if (kpep)
			to->kpep_group = plan->groups;
		plan->first[plan->groups++] = first;
	}
	plan->first[plan->groups] = plan->opened = at;
	for (unsigned i = 0; i < making->n; i++)
		if (making->events[i].group == PMC_NO_GROUP)
			plan->events[at++] = making->events[i];
	plan->count = at;
}

int pmc_mac_plan_make(struct pmc_mac *mac, const struct pmc_events *events, bool attach,
		      struct pmc_arena *arena, struct pmc_mac_plan *plan)
{
	struct making *making = pmc_arena_alloc(arena, sizeof(*making));
	int error;

	memset(plan, 0, sizeof(*plan));
	if (!making)
		return -ENOMEM;
	memset(making, 0, sizeof(*making));
	making->mac = mac;
	making->arena = arena;
	for (unsigned i = 0; i < events->count; i++)
		add_event(making, &events->list[i]);
	if (making->overflow)
		return -E2BIG;
	error = open_kpep(making, attach);
	if (error)
		return error;
	plan->plan.events = pmc_arena_alloc(arena, sizeof(*plan->plan.events) * (making->n + 1));
	if (!plan->plan.events)
		return -ENOMEM;
	order(making, plan);
	return pmc_plan_seal(&plan->plan, arena);
}

int pmc_mac_plan_totals(const struct pmc_mac_plan *rows, struct pmc_arena *arena,
			struct pmc_mac_plan *totals)
{
	const struct pmc_plan *from = &rows->plan;
	struct pmc_plan *plan = &totals->plan;

	memset(totals, 0, sizeof(*totals));
	totals->kpep_group = ~0u;
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events) * (from->opened + 1));
	if (!plan->events)
		return -ENOMEM;
	for (unsigned i = 0; i < from->opened; i++) {
		if (rows->sources[i].kind == PMC_MAC_KPEP)
			continue;
		totals->sources[plan->count] = rows->sources[i];
		plan->events[plan->count] = from->events[i];
		plan->events[plan->count++].group = 0;
	}
	plan->first[1] = plan->opened = plan->count;
	plan->groups = plan->count > 0;
	return pmc_plan_seal(plan, arena);
}

static uint64_t value_of(const struct pmc_mac_source *source, const struct pmc_mac_reading *r)
{
	switch (source->kind) {
	case PMC_MAC_CYCLES:
		return r->level[source->index].cycles;
	case PMC_MAC_INSTRUCTIONS:
		return r->level[source->index].instructions;
	case PMC_MAC_KPEP:
		return r->kpc[source->index];
	case PMC_MAC_CLOCK:
	default:
		return r->cpu_ns;
	}
}

/* Whether the group has only clocks, which are read in another way than counts. */
static bool is_clocks(const struct pmc_mac_plan *plan, unsigned group)
{
	for (unsigned i = plan->plan.first[group]; i < plan->plan.first[group + 1]; i++)
		if (plan->sources[i].kind != PMC_MAC_CLOCK)
			return false;
	return true;
}

static uint32_t error_of(const struct pmc_mac_plan *plan, unsigned group,
			 const struct pmc_mac_reading *r)
{
	if (group == plan->kpep_group)
		return r->kpc_error;
	if (is_clocks(plan, group))
		return r->has_cpu ? 0 : PMC_REASON_NO_SOURCE;
	return r->counts_error;
}

/* The counters of a thread run whenever it runs, so both times are its CPU time; not 0, which would
 * say that it was never counted. */
void pmc_mac_plan_put(const struct pmc_mac_plan *plan, struct pmc_frame_buf *buf,
		      const struct pmc_mac_reading *counts)
{
	const uint64_t ran = counts->cpu_ns ? counts->cpu_ns : 1;

	for (unsigned g = 0; g < plan->plan.groups; g++) {
		const unsigned first = plan->plan.first[g], n = plan->plan.first[g + 1] - first;
		const uint32_t error = error_of(plan, g, counts);
		const struct pmc_reading none = { .error = error },
					 reading = { .enabled_ns = ran, .running_ns = ran, .n = n };
		uint64_t *words = pmc_put_reading(buf, error ? &none : &reading, NULL);

		for (unsigned i = 0; words && !error && i < n; i++)
			words[i] = value_of(&plan->sources[first + i], counts);
	}
}
