/* SPDX-License-Identifier: MIT */
/*
 * pack.c - packs events into the fewest groups that the PMU runs, which it learns by running
 * groups.
 *
 * First fit in the user's order. If one group is not enough, events that form a ratio stay together
 * unless that takes more groups. A braced group is counted as a whole or not at all. A pinned event
 * is a group of its own unless it is in braces; pinned groups come first and always run, so the
 * other groups are probed beside them. Groups do not span types of cores.
 *
 * perf_event_open(2) accepts groups that never run: the kernel does not know of counters that
 * others hold (pinned events of a CPU, the NMI watchdog). A probe is a pinned group that is enabled
 * and read at once; if the PMU cannot run it, the read returns 0 bytes.
 *
 * A scheduled counter may still read 0: a hypervisor can offer more counters than its host has
 * free (under KVM each counter of the guest is an event of the host). Which counter is dead
 * changes, how many are does not. So a probe runs over a workload that default events count.
 */
#include "lib/base/clock.h"
#include "lib/plan/plan.h"

#include <errno.h>
#include <stdatomic.h>

/* ---- probes ------------------------------------------------------------------------------ */

/* A group of the calling thread that grows event by event. Set `open`, the rest is 0. */
struct probe {
	pmc_perf_opener open;
	unsigned n;
	uint64_t pmu; /* bits: events that take a counter of a PMU */
	int fds[PMC_EVENTS_MAX];
};

/* Opens one more event; 0 or -errno. */
static int probe_add(struct probe *probe, const struct pmc_event *event, enum pmc_scope scope)
{
	const bool leader = probe->n == 0;
	struct pmc_attr attr;
	int fd;

	_Static_assert(PMC_EVENTS_MAX <= 64, "a bit for each event");
	if (probe->n == PMC_EVENTS_MAX)
		return -EMFILE;
	pmc_perf_group_attr(event, scope, leader, &attr);
	attr.base.pinned = leader;
	/* arm64 leaves disabled events out when it validates a group, but not these:
	 * validate_event() in drivers/perf/arm_pmu.c. */
	attr.base.enable_on_exec = leader;
	fd = probe->open(&attr, leader ? -1 : probe->fds[0]);
	if (fd < 0)
		return fd;
	if (pmc_event_needs_pmu(event))
		probe->pmu |= UINT64_C(1) << probe->n;
	probe->fds[probe->n++] = fd;
	return 0;
}

/* Closes the newest event. */
static void probe_drop(struct probe *probe)
{
	pmc_perf_group_close(&probe->fds[--probe->n], 1);
	probe->pmu &= ~(UINT64_C(1) << probe->n);
}

static void probe_close(struct probe *probe)
{
	while (probe->n > 0)
		probe_drop(probe);
}

#define WORK_LINES    32u
#define WORK_BRANCHES 128u
/* A dead counter reads no more than this: KVM adds the instructions that it emulates for the guest,
 * five at most while a group is enabled. A live one reads more after the workload. */
#define WORK_DEAD_MOST 16u

static _Alignas(64) const char work_on[WORK_LINES][64];

/* Writes the line back and drops it from all caches. */
static void flush(const void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
}

/* Reads lines that no cache holds and takes unpredictable branches, so that each of the default
 * events counts. */
__attribute__((noinline)) static void work(void)
{
	uint64_t seed = pmc_now_ns() | 1;

	for (unsigned i = 0; i < WORK_LINES; i++)
		flush(work_on[i]);
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < WORK_LINES; i++)
		(void)*(const volatile char *)work_on[i];
	for (unsigned i = 0; i < WORK_BRANCHES; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		/* volatile keeps the branch: no conditional move. */
		if (seed & 16)
			__asm__ volatile("" : "+r"(i));
		else
			__asm__ volatile("" : "+r"(seed));
	}
}

/* Runs the group over the workload. False: the PMU cannot run it. *silent: how many of its counters
 * have not counted since it was opened. */
static bool probe_run(struct probe *probe, unsigned *silent)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
	const int n_words = PMC_PERF_GROUP_WORDS((int)probe->n);
	int got;

	*silent = 0;
	if (probe->n == 0)
		return true;
	pmc_perf_group_enable(probe->fds[0]);
	work();
	/* Stopped first: where a hypervisor traps access, running counters are slow to read. */
	pmc_perf_group_disable(probe->fds[0]);
	got = pmc_perf_read_some(probe->fds[0], words, (size_t)n_words);
	for (unsigned i = 0; i < probe->n && got == n_words; i++)
		*silent += (probe->pmu >> i & 1) && words[3 + 2 * i] <= WORK_DEAD_MOST;
	/* Any other error says nothing about the group. */
	return got != -ENODATA;
}

/* Whether this process or the system ran out of something that other events could have had. */
static bool is_exhausted(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EINTR;
}

int pmc_probe_counters(pmc_perf_opener open, const struct pmc_event *leader,
		       const struct pmc_event *sibling, unsigned most,
		       struct pmc_counters *counters)
{
	struct probe probe = { .open = open };
	unsigned silent;
	int error, exhausted = 0;

	*counters = (struct pmc_counters){ 0 };
	do {
		probe_close(&probe);
		error = 0;
		while (probe.n < most && !error)
			error = probe_add(&probe, probe.n ? sibling : leader, PMC_SCOPE_USER);
		if (is_exhausted(error))
			exhausted = error;
		if (counters->accepted == 0)
			counters->accepted = probe.n;
		most = probe.n - 1;
	} while (!probe_run(&probe, &silent));
	counters->running = probe.n;
	counters->counting = probe.n - silent;
	probe_close(&probe);
	return exhausted;
}

/* How many of n counters count when all are in use; n if none is known to be dead. */
static unsigned counters_alive(pmc_perf_opener open, unsigned n)
{
	static const struct pmc_event instructions = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};
	struct pmc_counters counters;

	pmc_probe_counters(open, &instructions, &instructions, n, &counters);
	if (counters.counting == 0 || counters.counting == counters.running)
		return n;
	return counters.counting;
}

int pmc_probe_together(pmc_perf_opener open, const struct pmc_event *const *events,
		       const enum pmc_scope *scopes, unsigned n)
{
	struct probe probe = { .open = open };
	unsigned silent = 0, pmu;
	int error = 0;
	bool runs;

	for (unsigned i = 0; i < n && !error; i++)
		error = probe_add(&probe, events[i], scopes[i]);
	runs = !error && probe_run(&probe, &silent);
	pmu = (unsigned)__builtin_popcountll(probe.pmu);
	probe_close(&probe);
	if (is_exhausted(error))
		return error;
	return runs && (pmu < 2 || !silent || counters_alive(open, pmu) == pmu);
}

/* ---- packing ------------------------------------------------------------------------------ */

struct packing {
	pmc_perf_opener open;
	unsigned most;		    /* counters that a group may take; 0: no limit */
	struct pmc_planned *events; /* in the user's order */
	unsigned count;
	uint16_t group[PMC_EVENTS_MAX];
	unsigned groups;
	unsigned silent;	  /* counters that read 0 in a group of all its events */
	bool all_run;		  /* all events ran as one group, so any of them run together */
	int held[PMC_EVENTS_MAX]; /* descriptors of pinned groups, running meanwhile */
	unsigned n_held, held_counters;
};

/* WAITING: opens, and has no group yet. */
enum { WAITING = PMC_NO_GROUP - 1 };

/* Whether event i waits for a group and may be in one with event `first`. */
static bool may_join(const struct packing *packing, unsigned i, unsigned first)
{
	const struct pmc_event *a = &packing->events[i].event;
	const struct pmc_event *b = &packing->events[first].event;

	if (packing->group[i] != WAITING)
		return false;
	return i == first ||
	       (a->brace == b->brace && (a->brace != PMC_NO_BRACE || !(a->pinned || b->pinned)) &&
		pmc_event_is_of_core(a, b->core_type));
}

/* Whether event i is in a group that is pinned: in braces one pinned event pins all. */
static bool is_pinned(const struct packing *packing, unsigned i)
{
	const struct pmc_event *event = &packing->events[i].event;
	bool pinned = event->pinned;

	for (unsigned k = 0; k < packing->count && event->brace != PMC_NO_BRACE; k++)
		pinned |= packing->events[k].event.brace == event->brace &&
			  packing->events[k].event.pinned;
	return pinned;
}

static unsigned partner_of(const struct packing *packing, unsigned i)
{
	for (unsigned k = 0; k < packing->count; k++)
		if (k != i && may_join(packing, k, i) &&
		    pmc_is_ratio(&packing->events[i].event, &packing->events[k].event))
			return k;
	return i;
}

/* 0, -errno or -PMC_REASON_ALL_PINNED. */
static int open_next(const struct packing *packing, struct probe *probe, unsigned i)
{
	const struct pmc_planned *event = &packing->events[i];

	if (packing->most && pmc_event_needs_pmu(&event->event) &&
	    packing->held_counters + (unsigned)__builtin_popcountll(probe->pmu) >= packing->most)
		return -PMC_REASON_ALL_PINNED;
	return probe_add(probe, &event->event, event->scope);
}

static void refuse(struct packing *packing, unsigned i, enum pmc_state state, int error)
{
	packing->group[i] = PMC_NO_GROUP;
	packing->events[i].state = (uint8_t)state;
	packing->events[i].error = error;
}

static bool any_needs_pmu(const struct packing *packing, unsigned first)
{
	for (unsigned i = first; i < packing->count; i++)
		if (may_join(packing, i, first) && pmc_event_needs_pmu(&packing->events[i].event))
			return true;
	return false;
}

static bool run_all(struct packing *packing, struct probe *probe, unsigned first)
{
	for (unsigned i = first; i < packing->count; i++)
		if (may_join(packing, i, first) && open_next(packing, probe, i) != 0)
			return false;
	/* A single event that does not run now may run later, except beside pinned groups. */
	return packing->all_run || (probe->n < 2 && !packing->n_held) ||
	       probe_run(probe, &packing->silent);
}

/* One group of all events that may join the first. False: the PMU does not run them together. */
static bool take_all(struct packing *packing, struct probe *probe, unsigned first)
{
	if (any_needs_pmu(packing, first) && !run_all(packing, probe, first))
		return false;
	for (unsigned i = first; i < packing->count; i++)
		if (may_join(packing, i, first))
			packing->group[i] = (uint16_t)packing->groups;
	return true;
}

static bool take(struct packing *packing, struct probe *probe, unsigned i)
{
	unsigned silent;

	if (open_next(packing, probe, i) != 0)
		return false;
	if (!packing->all_run && !probe_run(probe, &silent)) {
		probe_drop(probe);
		return false;
	}
	packing->group[i] = (uint16_t)packing->groups;
	return true;
}

/* One group of the first event, which stays even if the PMU does not run it now unless pinned
 * groups are the reason, and of those that run beside it. With `pairs` an event and its partner of
 * a ratio are added together or not. */
static void take_what_fits(struct packing *packing, struct probe *probe, unsigned first, bool pairs)
{
	int error = open_next(packing, probe, first);
	unsigned silent;

	if (!error && packing->n_held && !probe_run(probe, &silent)) {
		refuse(packing, first, PMC_NOT_COUNTED,
		       is_pinned(packing, first) ? PMC_REASON_PINNED : PMC_REASON_ALL_PINNED);
		probe_drop(probe);
		return;
	}
	if (error) {
		/* Otherwise the event opened only with another leader. */
		bool full = error == -PMC_REASON_ALL_PINNED;

		refuse(packing, first, full ? PMC_NOT_COUNTED : pmc_plan_refusal(-error), -error);
		return;
	}
	for (unsigned i = first; i < packing->count; i++) {
		unsigned partner = pairs ? partner_of(packing, i) : i;

		if (!may_join(packing, i, first))
			continue;
		if (i != first && !take(packing, probe, i))
			continue;
		packing->group[i] = (uint16_t)packing->groups;
		if (partner == i || take(packing, probe, partner) || i == first)
			continue;
		probe_drop(probe);
		packing->group[i] = WAITING;
	}
}

/* The counts of a braced group are to be compared, and those of two groups are not. */
static void refuse_brace(struct packing *packing, unsigned first)
{
	for (unsigned i = first; i < packing->count; i++)
		if (may_join(packing, i, first))
			refuse(packing, i, PMC_NOT_COUNTED,
			       packing->n_held && is_pinned(packing, first) ? PMC_REASON_PINNED :
									      PMC_REASON_BRACE);
}

/* Keeps a pinned group scheduled while other groups are probed. */
static void hold(struct packing *packing, struct probe *probe)
{
	unsigned counters = (unsigned)__builtin_popcountll(probe->pmu);

	if (!counters || probe->n > PMC_EVENTS_MAX - packing->n_held)
		return;
	pmc_perf_group_enable(probe->fds[0]);
	packing->held_counters += counters;
	for (unsigned i = 0; i < probe->n; i++)
		packing->held[packing->n_held++] = probe->fds[i];
	*probe = (struct probe){ .open = probe->open };
}

static void let_go(struct packing *packing)
{
	while (packing->n_held)
		pmc_perf_group_close(&packing->held[--packing->n_held], 1);
	packing->held_counters = 0;
}

static void add_group(struct packing *packing, unsigned first, bool pairs)
{
	struct probe probe = { .open = packing->open };
	bool all = take_all(packing, &probe, first);

	if (!all) {
		probe_close(&probe);
		if (packing->events[first].event.brace != PMC_NO_BRACE) {
			refuse_brace(packing, first);
			return;
		}
		take_what_fits(packing, &probe, first, pairs);
	}
	packing->groups += all || probe.n > 0;
	if (is_pinned(packing, first))
		hold(packing, &probe);
	probe_close(&probe);
}

static void fill(struct packing *packing, bool pairs)
{
	packing->groups = packing->silent = 0;
	for (unsigned i = 0; i < packing->count; i++)
		packing->group[i] = packing->events[i].state == PMC_COUNTED &&
						    !packing->events[i].event.accounted ?
					    WAITING :
					    PMC_NO_GROUP;
	for (unsigned i = 0; i < packing->count; i++)
		if (packing->group[i] == WAITING && is_pinned(packing, i))
			add_group(packing, i, pairs);
	for (unsigned i = 0; i < packing->count; i++)
		if (packing->group[i] == WAITING)
			add_group(packing, i, pairs);
	let_go(packing);
}

static void fill_best(struct packing *packing)
{
	struct packing paired = *packing;

	fill(packing, false);
	if (packing->groups < 2)
		return;
	fill(&paired, true);
	if (paired.groups <= packing->groups)
		*packing = paired;
}

/* How many counters count, if some that run do not; else 0. Groups that each leave a counter free
 * may all be on the PMU at the same time, so more than one are always checked. */
static unsigned alive_of(const struct packing *packing)
{
	unsigned taken = 0, alive;

	for (unsigned i = 0; i < packing->count; i++)
		taken += packing->group[i] != PMC_NO_GROUP &&
			 pmc_event_needs_pmu(&packing->events[i].event);
	if (taken < 2 || (packing->groups == 1 && !packing->silent))
		return 0;
	alive = counters_alive(packing->open, taken);
	return alive < taken ? alive : 0;
}

/* Software events are counted all of the time in a group of their own, and not in one that waits
 * for counters. Braces and pins stay. */
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

unsigned pmc_plan_pack(pmc_perf_opener open, struct pmc_planned *events, unsigned count)
{
	struct packing packing = { .open = open, .events = events, .count = count };
	unsigned alive;

	fill_best(&packing);
	alive = alive_of(&packing);
	if (alive) {
		packing.most = alive;
		packing.all_run = packing.groups == 1;
		fill_best(&packing);
	}
	free_software(&packing);
	for (unsigned i = 0; i < count; i++) {
		events[i].group = packing.group[i];
		/* Two groups at the same time could take a dead counter. */
		if (alive && events[i].group != PMC_NO_GROUP)
			events[i].flags |= PMC_EVENT_EXCLUSIVE;
	}
	return packing.groups;
}
