/* SPDX-License-Identifier: MIT */
/* twice.c - whether own groups and inherited copies of them may be on the PMU at once. */
#include "agent/core/plan/plan.h"
#include "agent/core/plan/pmu_probe.h"

#include <string.h>
#include <unistd.h>

static bool runs_alone(pmc_probe_open probe, const struct pmc_planned *event)
{
	struct pmc_fit fit = { .probe = probe };
	bool runs = pmc_fit_add(&fit, event) && pmc_fit_runs(fit.fds[0]);

	pmc_fit_end(&fit);
	return runs;
}

/* Whether the kernel takes a plan's only group twice as one group: what it refuses does not fit,
 * and the PMU is not asked. */
static bool opens_twice(const struct pmc_plan *plan, pmc_probe_open probe)
{
	struct pmc_fit fit = { .probe = probe, .waiting = true };
	bool all = true;

	for (unsigned i = 0; i < 2 * plan->opened && all && fit.n < PMC_EVENTS_MAX; i++)
		all = pmc_fit_add(&fit, &plan->events[i % plan->opened]);
	pmc_fit_end(&fit);
	return all;
}

bool pmc_plan_fits_twice(const struct pmc_plan *plan, pmc_probe_open probe)
{
	struct pmc_fit fit = { .probe = probe };
	int fds[2 * PMC_EVENTS_MAX], leaders[2 * PMC_EVENTS_MAX];
	unsigned n = 0, n_leaders = 0;
	unsigned counters = 0;
	bool all = true;

	if (plan->opened && plan->events[0].flags & PMC_EVENT_ALONE)
		return false;
	if (plan->groups == 1 && !opens_twice(plan, probe))
		return false;
	/* All are open at once, and the early ones are looked at once more. */
	for (unsigned g = 0; g < 2 * plan->groups && all; g++) {
		/* Mostly one event more is too many, and the rest need not be opened. */
		all = g == 0 || runs_alone(probe, &plan->events[plan->first[g / 2]]);
		fit.waiting = true;
		for (unsigned i = plan->first[g / 2]; i < plan->first[g / 2 + 1]; i++)
			all = all && pmc_fit_add(&fit, &plan->events[i]);
		all = all && pmc_fit_go(&fit) && (fit.n > 1 || pmc_fit_runs(fit.fds[0]));
		if (fit.n > 0)
			leaders[n_leaders++] = fit.fds[0];
		memcpy(fds + n, fit.fds, fit.n * sizeof(*fds));
		n += fit.n;
		counters += fit.counters;
		fit.n = fit.counters = 0;
	}
	for (unsigned i = 0; i < n_leaders && all; i++)
		all = pmc_fit_runs(leaders[i]);
	while (n > 0)
		close(fds[--n]);
	return all && (counters < 2 || pmc_fit_alive(probe, counters) == counters);
}
