/* SPDX-License-Identifier: MIT */
/*
 * plan.c - asks the kernel which events open, and packs those into the fewest groups that run.
 *
 * First fit in the user's order. Where one group is not enough, events of a ratio are kept
 * together if that takes no more groups. A braced group is all or nothing, and so is a pinned
 * event, which is a group of its own unless braces say otherwise. Types of cores share no group.
 * What counts for the machine is in no thread's plan; see pmc_plan_machine().
 */
#include "agent/core/plan/plan.h"
#include "agent/core/count/group.h"
#include "agent/core/plan/pmu_probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum pmc_state pmc_plan_refusal(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return PMC_NOT_PERMITTED;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EBUSY:
	case EINTR:
		return PMC_NOT_COUNTED;
	default:
		return PMC_NOT_SUPPORTED;
	}
}

static int probe_one(pmc_probe_open probe, const struct pmc_planned *planned, int leader)
{
	struct pmc_attr attr;

	pmc_group_attr(planned, PMC_GROUP_OWN, leader < 0, &attr);
	return probe(&attr, leader);
}

static enum pmc_scope scope_of(const struct pmc_event *event)
{
	if (event->exclude_kernel && !event->exclude_user)
		return PMC_SCOPE_USER;
	if (event->exclude_user && !event->exclude_kernel)
		return PMC_SCOPE_KERNEL;
	return PMC_SCOPE_ALL;
}

/* Fills in what opening the event alone tells. Returns the open descriptor or -errno. */
static int try_alone(pmc_probe_open probe, struct pmc_planned *planned)
{
	struct pmc_event *event = &planned->event;
	int fd;

	planned->group = PMC_NO_GROUP;
	planned->scope = (uint8_t)scope_of(event);
	fd = probe_one(probe, planned, -1);
	/* perf_event_paranoid 2: an unprivileged user may count user mode only. */
	if ((fd == -EACCES || fd == -EPERM) && !event->asked_scope &&
	    planned->scope == PMC_SCOPE_ALL) {
		planned->scope = PMC_SCOPE_USER;
		int user = probe_one(probe, planned, -1);

		if (user >= 0) {
			planned->flags |= PMC_EVENT_FELL_BACK;
			return user;
		}
		planned->scope = PMC_SCOPE_ALL;
		/* Refused before the kernel looked for it: what it says then is the cause. */
		if (user != -EACCES && user != -EPERM)
			fd = user;
	}
	if (fd < 0) {
		planned->state = (uint8_t)pmc_plan_refusal(-fd);
		planned->error = -fd;
	}
	return fd;
}

struct packing {
	pmc_probe_open probe;
	unsigned most;		    /* counters that a group may take; 0: all */
	struct pmc_planned *events; /* in the user's order */
	unsigned count;
	uint16_t group[PMC_EVENTS_MAX];
	unsigned groups;
	bool doubted; /* a group that opened did not run: each event is tried as it comes */
	bool alike;   /* any of the events may lead a group of any others */
};

/* WAITING: opens, and has no group yet. */
enum { WAITING = PMC_NO_GROUP - 1 };

/* Whether both may be in one group. */
static bool are_company(const struct pmc_event *a, const struct pmc_event *b)
{
	if (a == b)
		return true;
	return a->brace == b->brace && (a->brace != PMC_NO_BRACE || !(a->pinned || b->pinned)) &&
	       strcmp(a->core_type ? a->core_type : "", b->core_type ? b->core_type : "") == 0;
}

static unsigned partner_of(const struct packing *packing, unsigned i)
{
	for (unsigned k = 0; k < packing->count; k++)
		if (k != i && packing->group[k] == WAITING &&
		    are_company(&packing->events[k].event, &packing->events[i].event) &&
		    pmc_fit_ratio(&packing->events[i].event, &packing->events[k].event))
			return k;
	return i;
}

/* The event, and if together its partner; both or none, but for a group's first event. */
static void add(struct packing *packing, struct pmc_fit *fit, unsigned i, bool together)
{
	unsigned other = together ? partner_of(packing, i) : i;
	bool first = fit->n == 0;

	if (!pmc_fit_add(fit, &packing->events[i]) && !first)
		return;
	if (other != i && pmc_fit_add(fit, &packing->events[other])) {
		packing->group[other] = (uint16_t)packing->groups;
	} else if (other != i && !first) {
		pmc_fit_drop(fit);
		return;
	}
	packing->group[i] = (uint16_t)packing->groups;
}

/* The first waiting event into a group, and of the rest those that go with it. False: some of its
 * brace do not. */
static bool fill_one(struct packing *packing, struct pmc_fit *fit, unsigned first, bool together)
{
	const struct pmc_event *company = &packing->events[first].event;
	bool whole = true;

	for (unsigned i = first; i < packing->count; i++) {
		if (packing->group[i] != WAITING ||
		    !are_company(&packing->events[i].event, company))
			continue;
		add(packing, fit, i, together && company->brace == PMC_NO_BRACE);
		whole = whole && packing->group[i] != WAITING;
	}
	return whole;
}

static void empty(struct packing *packing)
{
	for (unsigned i = 0; i < packing->count; i++)
		if (packing->group[i] == packing->groups)
			packing->group[i] = WAITING;
}

/* One more group of those that run together. */
static void fill(struct packing *packing, unsigned first, bool together)
{
	const struct pmc_event *company = &packing->events[first].event;
	int brace = company->brace;
	struct pmc_fit fit = { .probe = packing->probe,
			       .most = packing->most,
			       .waiting = !packing->doubted };
	bool whole = fill_one(packing, &fit, first, together);

	if (!pmc_fit_go(&fit)) {
		pmc_fit_end(&fit);
		packing->doubted = true;
		empty(packing);
		whole = fill_one(packing, &fit, first, together);
	}
	pmc_fit_end(&fit);
	if (brace == PMC_NO_BRACE || whole) {
		packing->groups++;
		return;
	}
	/* What was asked for as one group is not taken apart: the numbers would look exact. */
	for (unsigned i = first; i < packing->count; i++) {
		struct pmc_planned *event = &packing->events[i];

		if (packing->group[i] == PMC_NO_GROUP || !are_company(&event->event, company))
			continue;
		packing->group[i] = PMC_NO_GROUP;
		event->state = PMC_NOT_COUNTED;
		event->error = PMC_REASON_BRACE;
	}
}

static void pack(struct packing *packing, bool together)
{
	packing->groups = 0;
	for (unsigned i = 0; i < packing->count; i++)
		packing->group[i] =
			packing->events[i].state == PMC_COUNTED ? WAITING : PMC_NO_GROUP;
	for (unsigned i = 0; i < packing->count; i++)
		if (packing->group[i] == WAITING)
			fill(packing, i, together);
}

bool pmc_event_needs_pmu(const struct pmc_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT &&
	       event->type != PERF_TYPE_BREAKPOINT;
}

/* Groups that take turns on the PMU must not make those wait that need no counter: they get a group
 * of their own, and are counted all of the time. Braces and pins stay as they were asked for. */
static void free_software(struct packing *packing)
{
	bool takes_counters[PMC_EVENTS_MAX] = { false };
	unsigned sharing = 0, own = packing->groups;

	for (unsigned i = 0; i < packing->count; i++) {
		unsigned g = packing->group[i];

		if (g == PMC_NO_GROUP || !pmc_event_needs_pmu(&packing->events[i].event))
			continue;
		sharing += !takes_counters[g];
		takes_counters[g] = true;
	}
	for (unsigned i = 0; i < packing->count && sharing > 1; i++) {
		const struct pmc_event *event = &packing->events[i].event;
		unsigned g = packing->group[i];

		if (g == PMC_NO_GROUP || event->brace != PMC_NO_BRACE || event->pinned)
			continue;
		if (pmc_event_needs_pmu(event) || !takes_counters[g])
			continue;
		packing->group[i] = (uint16_t)own;
		packing->groups = own + 1;
	}
}

static void pack_best(struct packing *packing)
{
	struct packing alike = *packing;

	pack(packing, false);
	if (packing->groups < 2)
		return;
	pack(&alike, true);
	if (alike.groups <= packing->groups)
		*packing = alike;
}

bool pmc_event_is_machine(const struct pmc_event *event)
{
	return event->cpus && event->cpus[0];
}

/* What is known of the events in one group. */
struct at_once {
	bool run;	  /* so any of them do */
	bool known;	  /* which of them counted, and which of those that did not should have */
	unsigned counted; /* of those that take a counter */
	uint64_t silent;  /* the others, as bits */
	unsigned sure;	  /* an event that does not fall silent by itself; count: there is none */
};

static unsigned find_sure(const struct packing *packing)
{
	unsigned least = packing->alike ? 0 : 1;

	for (unsigned i = packing->count; i > least; i--)
		if (pmc_fit_is_sure(&packing->events[i - 1].event))
			return i - 1;
	return packing->count;
}

/* The order in which they are tried: a sure one at the end, since a hypervisor most likely has no
 * counter left for the last. The others stay as the threads will have them: what a counter counted
 * last costs less to count again. So does the leader, unless it makes no difference who that is. */
static unsigned kth(const struct packing *packing, const struct at_once *all, unsigned k)
{
	return k < all->sure ? k : k + 1 < packing->count ? k + 1 : all->sure;
}

static void look_at(const struct packing *packing, uint64_t counted, struct at_once *all)
{
	for (unsigned k = 0; k < packing->count; k++) {
		unsigned i = kth(packing, all, k);
		const struct pmc_event *event = &packing->events[i].event;

		if (!pmc_event_needs_pmu(event))
			continue;
		all->counted += counted >> k & 1;
		if (counted >> k & 1)
			continue;
		all->silent |= 1ull << i;
		all->known = all->known && pmc_fit_has_work(event);
	}
}

/* The common case at half the price: all events in one group, and nothing was refused. */
static struct at_once pack_at_once(struct packing *packing)
{
	struct pmc_fit fit = { .probe = packing->probe, .waiting = true };
	struct at_once all = { .run = packing->count > 0, .sure = find_sure(packing) };
	uint64_t counted;

	_Static_assert(PMC_EVENTS_MAX <= 64, "a bit for each event");
	for (unsigned k = 0; k < packing->count && all.run; k++) {
		unsigned i = kth(packing, &all, k);
		struct pmc_planned *event = &packing->events[i];

		event->scope = (uint8_t)scope_of(&event->event);
		all.run = event->state == PMC_COUNTED &&
			  are_company(&event->event, &packing->events[0].event) &&
			  pmc_fit_add(&fit, event);
		packing->group[i] = 0;
	}
	all.run = all.run && pmc_fit_try(&fit, &counted);
	all.known = all.run && counted;
	if (all.known)
		look_at(packing, counted, &all);
	pmc_fit_end(&fit);
	packing->groups = 1;
	return all;
}

/* Whether those that counted nothing do without the others: it was their counters. */
static bool miss_counters(const struct packing *packing, const struct at_once *events)
{
	struct pmc_fit fit = { .probe = packing->probe, .waiting = true };
	uint64_t counted = 0;
	bool all = true;

	if (events->sure < packing->count && events->silent == 1ull << events->sure)
		return true;
	for (unsigned i = 0; i < packing->count && all; i++)
		if (events->silent >> i & 1)
			all = pmc_fit_add(&fit, &packing->events[i]);
	all = all && pmc_fit_try(&fit, &counted) &&
	      (unsigned)__builtin_popcountll(counted) == fit.n;
	pmc_fit_end(&fit);
	return all;
}

/* Opens each event alone first, to tell what is refused from what does not fit. */
static void pack_with_care(struct packing *packing)
{
	int alone[PMC_EVENTS_MAX];

	for (unsigned i = 0; i < packing->count; i++)
		alone[i] = packing->events[i].state == PMC_COUNTED ?
				   try_alone(packing->probe, &packing->events[i]) :
				   -1;
	pack_best(packing);
	free_software(packing);
	/* Open until now: software events are dear to open when no other is there. */
	for (unsigned i = 0; i < packing->count; i++)
		if (alone[i] >= 0)
			close(alone[i]);
}

static unsigned counters_taken(const struct packing *packing)
{
	unsigned n = 0;

	for (unsigned i = 0; i < packing->count; i++)
		n += packing->group[i] != PMC_NO_GROUP &&
		     pmc_event_needs_pmu(&packing->events[i].event);
	return n;
}

/* Groups that together take no more counters than there are would all be on the PMU at once, and
 * more of them than count: then each has it for itself. */
static void pack_what_counts(struct packing *packing)
{
	struct at_once all;
	unsigned taken;

	packing->alike = pmc_fit_alike(packing->events, packing->count);
	all = pack_at_once(packing);
	if (!all.run)
		pack_with_care(packing);
	taken = counters_taken(packing);
	if (taken < 2 || (all.known && !all.silent))
		return;
	packing->most = all.known && miss_counters(packing, &all) ?
				all.counted :
				pmc_fit_alive(packing->probe, taken);
	if (packing->most == taken)
		return;
	if (all.run && packing->alike) {
		packing->probe = NULL;
		pack_best(packing);
		free_software(packing);
	} else {
		pack_with_care(packing);
	}
	for (unsigned i = 0; i < packing->count; i++)
		if (packing->group[i] != PMC_NO_GROUP)
			packing->events[i].flags |= PMC_EVENT_ALONE;
}

/* A group is pinned by its leader, whichever of its events was to be. */
static void pin_leaders(const struct packing *packing)
{
	for (unsigned i = 0; i < packing->count; i++) {
		if (packing->group[i] == PMC_NO_GROUP || !packing->events[i].event.pinned)
			continue;
		for (unsigned k = 0; k < packing->count; k++)
			if (packing->group[k] == packing->group[i])
				packing->events[k].event.pinned = true;
	}
}

int pmc_plan_make(const struct pmc_events *events, pmc_probe_open probe, struct pmc_arena *arena,
		  struct pmc_plan *plan)
{
	struct packing packing = { .probe = probe, .count = events->count };
	struct pmc_planned *tried;
	unsigned at = 0;

	memset(plan, 0, sizeof(*plan));
	if (events->count > PMC_EVENTS_MAX)
		return -E2BIG;
	tried = pmc_arena_alloc(arena, sizeof(*tried) * (events->count + 1));
	plan->events = pmc_arena_alloc(arena, sizeof(*tried) * (events->count + 1));
	if (!tried || !plan->events)
		return -ENOMEM;
	for (unsigned i = 0; i < events->count; i++) {
		tried[i].event = events->list[i];
		if (!pmc_event_is_machine(&tried[i].event))
			continue;
		tried[i].state = PMC_NOT_COUNTED;
		tried[i].error = PMC_REASON_MACHINE;
	}
	packing.events = tried;
	pack_what_counts(&packing);
	pin_leaders(&packing);
	for (unsigned i = 0; i < events->count; i++) {
		tried[i].group = packing.group[i];
		if (tried[i].group != PMC_NO_GROUP)
			plan->hardware |= pmc_event_needs_pmu(&tried[i].event);
	}

	plan->count = events->count;
	plan->groups = packing.groups;
	for (unsigned g = 0; g < packing.groups; g++) {
		plan->first[g] = at;
		for (unsigned i = 0; i < events->count; i++)
			if (tried[i].group == g)
				plan->events[at++] = tried[i];
	}
	plan->first[packing.groups] = plan->opened = at;
	for (unsigned i = 0; i < events->count; i++)
		if (tried[i].group == PMC_NO_GROUP)
			plan->events[at++] = tried[i];
	return pmc_plan_seal(plan, arena);
}

int pmc_plan_clock(struct pmc_arena *arena, struct pmc_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events));
	if (!plan->events)
		return -ENOMEM;
	plan->events[0].event = (struct pmc_event){
		.name = "task-clock",
		.unit = "ns",
		.pmu = "",
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.scale = 1.0,
		.brace = PMC_NO_BRACE,
	};
	plan->count = plan->opened = plan->groups = plan->first[1] = 1;
	return pmc_plan_seal(plan, arena);
}

int pmc_plan_user(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *user)
{
	unsigned changed = 0;

	*user = *plan;
	user->events = pmc_arena_alloc(arena, sizeof(*user->events) * (plan->count + 1));
	if (!user->events)
		return -ENOMEM;
	for (unsigned i = 0; i < plan->count; i++) {
		struct pmc_planned *p = &user->events[i];

		*p = plan->events[i];
		if (p->group == PMC_NO_GROUP || p->scope != PMC_SCOPE_ALL || p->event.asked_scope)
			continue;
		p->scope = PMC_SCOPE_USER;
		p->flags |= PMC_EVENT_FELL_BACK;
		changed++;
	}
	if (!changed)
		user->count = user->opened = user->groups = 0;
	return pmc_plan_seal(user, arena);
}
