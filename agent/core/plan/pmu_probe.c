/* SPDX-License-Identifier: MIT */
/* pmu_probe.c - probe groups that run, and events that should run together; see pmu_probe.h. */
#include "agent/core/plan/pmu_probe.h"
#include "agent/core/base/clock.h"
#include "agent/core/count/group.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

bool pmc_fit_runs(int leader)
{
	uint64_t words[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];

	/* Not a failed read either: what cannot be read tells nothing against the group. */
	return pmc_perf_read_some(leader, words, PMC_GROUP_WORDS(PMC_EVENTS_MAX)) != -ENODATA;
}

bool pmc_fit_add(struct pmc_fit *fit, const struct pmc_planned *event)
{
	bool leader = fit->n == 0, counter = pmc_event_needs_pmu(&event->event);
	struct pmc_attr attr;
	int fd = -1;

	if (fit->n == PMC_EVENTS_MAX || (counter && fit->most && fit->counters == fit->most))
		return false;
	if (fit->probe) {
		pmc_group_attr(event, PMC_GROUP_OWN, leader, &attr);
		attr.base.disabled = leader && fit->waiting;
		attr.base.pinned = leader;
		fd = fit->probe(&attr, leader ? -1 : fit->fds[0]);
		if (fd < 0)
			return false;
	}
	fit->takes_counter[fit->n] = counter;
	fit->counters += counter;
	fit->fds[fit->n++] = fd;
	if (leader || fit->waiting || !fit->probe || pmc_fit_runs(fit->fds[0]))
		return true;
	pmc_fit_drop(fit);
	return false;
}

bool pmc_fit_go(struct pmc_fit *fit)
{
	if (!fit->waiting || !fit->probe || fit->n == 0)
		return true;
	fit->waiting = false;
	fit->probe(NULL, fit->fds[0]);
	return fit->n == 1 || pmc_fit_runs(fit->fds[0]);
}

void pmc_fit_drop(struct pmc_fit *fit)
{
	if (fit->n == 0)
		return;
	fit->counters -= fit->takes_counter[--fit->n];
	if (!fit->probe)
		return;
	close(fit->fds[fit->n]);
	/* A pinned group that did not fit is in error until it is enabled again. */
	if (fit->n > 0 && !fit->waiting)
		fit->probe(NULL, fit->fds[0]);
}

void pmc_fit_end(struct pmc_fit *fit)
{
	/* At once: each event that leaves a running group has the rest programmed anew. */
	if (fit->probe && fit->n > 1 && !fit->waiting)
		pmc_group_disable(fit->fds[0]);
	while (fit->n > 0 && fit->probe)
		close(fit->fds[--fit->n]);
	fit->n = fit->counters = 0;
}

#define WORK_LINES    32u
#define WORK_BRANCHES 128u
/* What a counter that counts says after the work, and no other one: where the kernel is counted KVM
 * adds the instructions that it emulates for the guest, five at most while a group is enabled. */
#define WORK_SHOWS 16u

static _Alignas(64) const char work_on[WORK_LINES][64];

/* Out of all caches. False: here it cannot be done. */
static bool flush(const void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
	return true;
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
	return true;
#else
	(void)line;
	return false;
#endif
}

/* Lines that are in no cache, and branches that nobody can foretell. */
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
		/* Volatile: neither arm is done without the branch. */
		if (seed & 16)
			__asm__ volatile("" : "+r"(i));
		else
			__asm__ volatile("" : "+r"(seed));
	}
}

bool pmc_fit_has_work(const struct pmc_event *event)
{
	if (event->type != PERF_TYPE_HARDWARE || event->exclude_user)
		return false;
	switch (event->config & UINT32_MAX) { /* above it is the type of core */
	case PERF_COUNT_HW_CPU_CYCLES:
	case PERF_COUNT_HW_INSTRUCTIONS:
	case PERF_COUNT_HW_BRANCH_INSTRUCTIONS:
	case PERF_COUNT_HW_BRANCH_MISSES:
		return true;
	case PERF_COUNT_HW_CACHE_REFERENCES:
	case PERF_COUNT_HW_CACHE_MISSES:
		return flush(work_on[0]);
	default:
		return false;
	}
}

bool pmc_fit_is_sure(const struct pmc_event *event)
{
	const uint64_t config = event->config & UINT32_MAX;

	return event->type == PERF_TYPE_HARDWARE && !event->exclude_user &&
	       (config == PERF_COUNT_HW_CPU_CYCLES || config == PERF_COUNT_HW_INSTRUCTIONS ||
		config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
}

bool pmc_fit_alike(const struct pmc_planned *events, unsigned n)
{
	bool alike = true;

	for (unsigned i = 0; i < n; i++)
		alike = alike && (events[i].event.type == PERF_TYPE_HARDWARE ||
				  events[i].event.type == PERF_TYPE_HW_CACHE ||
				  !pmc_event_needs_pmu(&events[i].event));
	return alike;
}

bool pmc_fit_try(struct pmc_fit *fit, uint64_t *counted)
{
	uint64_t said[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];
	const int words = PMC_GROUP_WORDS((int)fit->n);
	int got;

	*counted = 0;
	if (fit->n == 0)
		return true;
	fit->probe(NULL, fit->fds[0]);
	work();
	/* Before it is read: where access traps, a counter is dear to read while it runs. */
	pmc_group_disable(fit->fds[0]);
	got = pmc_perf_read_some(fit->fds[0], said, words);
	for (unsigned i = 0; i < fit->n && got == words; i++)
		*counted |= (uint64_t)(said[3 + 2 * i] > WORK_SHOWS) << i;
	return got != -ENODATA;
}

static void add_instructions(struct pmc_fit *fit, unsigned n)
{
	/* What counts whatever is done, and needs no privilege beyond that to count at all. */
	const struct pmc_planned instructions = {
		.event = { .type = PERF_TYPE_HARDWARE,
			   .config = PERF_COUNT_HW_INSTRUCTIONS,
			   .exclude_kernel = 1 },
		.scope = PMC_SCOPE_USER,
	};

	while (fit->n < n && pmc_fit_add(fit, &instructions))
		;
}

unsigned pmc_fit_alive(pmc_probe_open probe, unsigned n)
{
	struct pmc_fit fit = { .probe = probe, .waiting = true };
	unsigned alive, running;
	uint64_t counted;

	add_instructions(&fit, n);
	if (!pmc_fit_try(&fit, &counted)) {
		/* As many as run: others hold counters. */
		pmc_fit_end(&fit);
		fit.waiting = false;
		add_instructions(&fit, n);
		running = fit.n;
		pmc_fit_end(&fit);
		fit.waiting = true;
		add_instructions(&fit, running);
		pmc_fit_try(&fit, &counted);
	}
	running = fit.n;
	alive = (unsigned)__builtin_popcountll(counted);
	pmc_fit_end(&fit);
	return alive == 0 || alive == running ? n : alive;
}

enum input_id {
#define INPUT(id, type, config, name) INPUT_##id,
#include "agent/core/event/metrics.def"
};

static enum input_id input_of(const struct pmc_event *event)
{
	static const struct {
		uint32_t type;
		uint64_t config;
	} inputs[] = {
#define INPUT(id, type, config, name) { type, config },
#include "agent/core/event/metrics.def"
	};

	uint64_t config = event->config & UINT32_MAX; /* above it is the type of core */

	/* Raw numbers mean something only together with their PMU, and those come in braces. */
	if (event->type != PERF_TYPE_HARDWARE && event->type != PERF_TYPE_HW_CACHE)
		return INPUT_NONE;
	for (unsigned i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		if (inputs[i].type == event->type && inputs[i].config == config)
			return (enum input_id)i;
	return INPUT_NONE;
}

bool pmc_fit_ratio(const struct pmc_event *a, const struct pmc_event *b)
{
	enum { PER, PCT, KI, EXCESS_PCT, CPU_PCT, SWITCHES_PER_S };
	static const struct {
		int formula;
		enum input_id a, b;
	} ratios[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ formula, INPUT_##a, INPUT_##b },
#include "agent/core/event/metrics.def"
	};
	enum input_id x = input_of(a), y = input_of(b);

	if (x == INPUT_NONE || y == INPUT_NONE)
		return false;
	for (unsigned i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++)
		/* Per 1,000 instructions: everything, so it binds nothing. */
		if ((ratios[i].formula == PER || ratios[i].formula == PCT) &&
		    ((ratios[i].a == x && ratios[i].b == y) ||
		     (ratios[i].a == y && ratios[i].b == x)))
			return true;
	return false;
}
