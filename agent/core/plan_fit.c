/* SPDX-License-Identifier: MIT */
/* plan_fit.c - probe groups that run, and events that should run together; see plan_fit.h. */
#include "agent/core/plan_fit.h"
#include "agent/core/group.h"

#include <errno.h>
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
	int fd;

	if (fit->n == PMC_EVENTS_MAX || (counter && fit->most && fit->counters == fit->most))
		return false;
	pmc_group_attr(event, PMC_GROUP_OWN, leader, &attr);
	attr.base.disabled = leader && fit->waiting;
	attr.base.pinned = leader;
	fd = fit->probe(&attr, leader ? -1 : fit->fds[0]);
	if (fd < 0)
		return false;
	fit->takes_counter[fit->n] = counter;
	fit->counters += counter;
	fit->fds[fit->n++] = fd;
	if (leader || fit->waiting || pmc_fit_runs(fit->fds[0]))
		return true;
	pmc_fit_drop(fit);
	return false;
}

bool pmc_fit_go(struct pmc_fit *fit)
{
	if (!fit->waiting || fit->n == 0)
		return true;
	fit->waiting = false;
	fit->probe(NULL, fit->fds[0]);
	return fit->n == 1 || pmc_fit_runs(fit->fds[0]);
}

void pmc_fit_drop(struct pmc_fit *fit)
{
	if (fit->n == 0)
		return;
	close(fit->fds[--fit->n]);
	fit->counters -= fit->takes_counter[fit->n];
	/* A pinned group that did not fit is in error until it is enabled again. */
	if (fit->n > 0 && !fit->waiting)
		fit->probe(NULL, fit->fds[0]);
}

void pmc_fit_end(struct pmc_fit *fit)
{
	/* At once: each event that leaves a running group has the rest programmed anew. */
	if (fit->n > 1 && !fit->waiting)
		pmc_group_disable(fit->fds[0]);
	while (fit->n > 0)
		close(fit->fds[--fit->n]);
}

/* The group's events, as bits, that counted between two readings: a counter may die as the next is
 * taken, so that a number alone tells nothing. */
static uint64_t moving(const struct pmc_fit *fit)
{
	uint64_t before[PMC_GROUP_WORDS(PMC_EVENTS_MAX)], after[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];
	const int words = PMC_GROUP_WORDS((int)fit->n);
	uint64_t events = 0;

	if (fit->n == 0 || pmc_perf_read_some(fit->fds[0], before, words) != words ||
	    pmc_perf_read_some(fit->fds[0], after, words) != words)
		return 0;
	for (unsigned i = 0; i < fit->n; i++)
		events |= (uint64_t)(after[3 + 2 * i] > before[3 + 2 * i]) << i;
	return events;
}

bool pmc_fit_counts(const struct pmc_fit *fit)
{
	uint64_t events = moving(fit);
	bool all = true;

	for (unsigned i = 0; i < fit->n; i++)
		all = all && (!fit->takes_counter[i] || events >> i & 1);
	return all;
}

unsigned pmc_fit_alive(pmc_probe_open probe, unsigned n)
{
	/* What counts whatever is done, and needs no privilege beyond that to count at all. */
	const struct pmc_planned instructions = {
		.event = { .type = PERF_TYPE_HARDWARE,
			   .config = PERF_COUNT_HW_INSTRUCTIONS,
			   .exclude_kernel = 1 },
		.scope = PMC_SCOPE_USER,
	};
	struct pmc_fit fit = { .probe = probe, .waiting = true };
	unsigned alive, running;

	while (fit.n < n && pmc_fit_add(&fit, &instructions))
		;
	if (!pmc_fit_go(&fit)) {
		pmc_fit_end(&fit);
		while (fit.n < n && pmc_fit_add(&fit, &instructions))
			;
	}
	running = fit.n;
	alive = (unsigned)__builtin_popcountll(moving(&fit));
	pmc_fit_end(&fit);
	return alive == 0 || alive == running ? n : alive;
}

enum input_id {
#define INPUT(id, type, config, name) INPUT_##id,
#include "agent/core/metrics.def"
};

static enum input_id input_of(const struct pmc_event *event)
{
	static const struct {
		uint32_t type;
		uint64_t config;
	} inputs[] = {
#define INPUT(id, type, config, name) { type, config },
#include "agent/core/metrics.def"
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
#include "agent/core/metrics.def"
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
