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
	unsigned n;
	bool overflow;
};

void pmc_mac_refuse(struct pmc_planned *planned, uint32_t reason)
{
	const bool could = reason == PMC_REASON_CONFLICT || reason == PMC_REASON_NO_KPERF;

	planned->group = PMC_NO_GROUP;
	planned->state = (uint8_t)(could ? PMC_NOT_COUNTED : pmc_plan_refusal((int)reason));
	planned->error = (int)reason;
}

/* The kernel adds up user and kernel mode. kperf counts user mode or all modes. */
static bool splits_modes(const struct pmc_event *event)
{
	return event->asked_scope && (event->exclude_kernel || event->exclude_user);
}

static struct pmc_planned *add(struct making *making, const struct pmc_event *event)
{
	struct pmc_planned *planned = &making->events[making->n];

	if (making->n == PMC_EVENTS_MAX) {
		making->overflow = true;
		return NULL;
	}
	making->n++;
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
	const char *name = pmc_mac_system.level_name(level);
	char number[] = "level0";

	number[5] = (char)('0' + level);
	return pmc_arena_strdup(making->arena, name && *name ? name : number);
}

static void add_counts(struct making *making, const struct pmc_event *event)
{
	const struct pmc_mac *mac = making->mac;
	unsigned n = mac->levels > 1 ? mac->levels : 1;
	const uint32_t reason = mac->no_counts;

	for (unsigned i = 0; i < (reason ? 1 : n); i++) {
		struct pmc_planned *planned = add(making, event);

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
		add_counts(making, event);
		return;
	}
	planned = add(making, event);
	if (planned && kind < 0)
		pmc_mac_refuse(planned, PMC_REASON_NO_SOURCE);
}

static bool is_kpep(const struct pmc_planned *planned)
{
	return pmc_mac_kind(&planned->event) == PMC_MAC_KPEP;
}

/* Programs the events of kperf, and refuses those that it does not count. */
static int open_kpep(struct making *making, bool attach)
{
	struct pmc_mac_event events[PMC_EVENTS_MAX];
	unsigned at[PMC_EVENTS_MAX], n = 0;

	for (unsigned i = 0; i < making->n; i++) {
		const struct pmc_event *event = &making->events[i].event;

		if (!is_kpep(&making->events[i]))
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
	for (unsigned i = 0; i < n; i++)
		if (events[i].reason)
			pmc_mac_refuse(&making->events[at[i]], events[i].reason);
	return 0;
}

/* Sets the groups: what the kernel counts, then the events of kperf. Returns how many there are. */
static unsigned set_groups(struct making *making)
{
	unsigned groups = 0;

	for (int kpep = 0; kpep < 2; kpep++) {
		bool any = false;

		for (struct pmc_planned *p = making->events; p < making->events + making->n; p++) {
			if (p->group == PMC_NO_GROUP || is_kpep(p) != kpep)
				continue;
			p->group = (uint16_t)groups;
			any = true;
		}
		groups += any;
	}
	return groups;
}

int pmc_mac_plan_make(struct pmc_mac *mac, const struct pmc_events *events, bool attach,
		      struct pmc_arena *arena, struct pmc_plan *plan)
{
	struct making *making = pmc_arena_alloc(arena, sizeof(*making));
	int error;

	memset(plan, 0, sizeof(*plan));
	if (!making)
		return -ENOMEM;
	making->mac = mac;
	making->arena = arena;
	for (unsigned i = 0; i < events->count; i++)
		add_event(making, &events->list[i]);
	if (making->overflow)
		return -E2BIG;
	error = open_kpep(making, attach);
	if (error)
		return error;
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events) * (making->n + 1));
	if (!plan->events)
		return -ENOMEM;
	plan->groups = plan->readings = set_groups(making);
	pmc_plan_order(plan, making->events, making->n);
	return pmc_plan_seal(plan, arena);
}

int pmc_mac_plan_totals(const struct pmc_plan *rows, struct pmc_arena *arena,
			struct pmc_plan *totals)
{
	memset(totals, 0, sizeof(*totals));
	totals->events = pmc_arena_alloc(arena, sizeof(*totals->events) * (rows->opened + 1));
	if (!totals->events)
		return -ENOMEM;
	/* Events of kperf are in the last group. */
	while (totals->count < rows->opened && !is_kpep(&rows->events[totals->count])) {
		totals->events[totals->count] = rows->events[totals->count];
		totals->count++;
	}
	totals->first[1] = totals->opened = totals->count;
	totals->groups = totals->readings = totals->count > 0;
	return pmc_plan_seal(totals, arena);
}

/* The value of event i of a group that starts at `first`. */
static uint64_t value_of(const struct pmc_plan *plan, unsigned first, unsigned i,
			 const struct pmc_mac_reading *r)
{
	const struct pmc_event *event = &plan->events[i].event;
	unsigned level = 0;

	/* The events of one item of the user's list are its performance levels. */
	while (i - level > first && plan->events[i - level - 1].event.position == event->position)
		level++;
	switch (pmc_mac_kind(event)) {
	case PMC_MAC_CYCLES:
		return r->level[level].cycles;
	case PMC_MAC_INSTRUCTIONS:
		return r->level[level].instructions;
	case PMC_MAC_KPEP:
		return r->kpc[i - first];
	default:
		return r->cpu_ns;
	}
}

/* Whether the group has only clocks, which are read in another way than counts. */
static bool is_clocks(const struct pmc_plan *plan, unsigned group)
{
	for (unsigned i = plan->first[group]; i < plan->first[group + 1]; i++)
		if (pmc_mac_kind(&plan->events[i].event) != PMC_MAC_CLOCK)
			return false;
	return true;
}

static uint32_t error_of(const struct pmc_plan *plan, unsigned group,
			 const struct pmc_mac_reading *r)
{
	if (is_kpep(&plan->events[plan->first[group]]))
		return r->kpc_error;
	if (is_clocks(plan, group))
		return r->has_cpu ? 0 : PMC_REASON_NO_SOURCE;
	return r->counts_error;
}

/* The counters of a thread run whenever it runs, so both times are its CPU time; not 0, which would
 * say that it was never counted. */
void pmc_mac_plan_put(const struct pmc_plan *plan, struct pmc_frame_buf *buf,
		      const struct pmc_mac_reading *counts)
{
	const uint64_t ran = counts->cpu_ns ? counts->cpu_ns : 1;

	for (unsigned g = 0; g < plan->groups; g++) {
		const unsigned first = plan->first[g], n = plan->first[g + 1] - first;
		const uint32_t error = error_of(plan, g, counts);
		const struct pmc_reading none = { .error = error },
					 reading = { .enabled_ns = ran, .running_ns = ran, .n = n };
		uint64_t *words = pmc_put_reading(buf, error ? &none : &reading, NULL);

		for (unsigned i = 0; words && !error && i < n; i++)
			words[i] = value_of(plan, first, first + i, counts);
	}
}
