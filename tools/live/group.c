/* SPDX-License-Identifier: MIT */
/* group.c - groups of a plan that are open on a thread or CPU, and sums of their counts. */
#include "tools/live/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make(struct live_group *group, unsigned first, unsigned n)
{
	*group = (struct live_group){ .first = first, .n = n };
	group->words = calloc(n, 2 * sizeof(*group->words));
	group->fds = malloc(n * sizeof(*group->fds));
	for (unsigned i = 0; group->fds && i < n; i++)
		group->fds[i] = -1;
	if (!group->words || !group->fds) {
		live_group_free(group);
		return -ENOMEM;
	}
	group->words_before = group->words + n;
	return 0;
}

int live_group_take(struct live_group *group, unsigned first, unsigned n, int leader, uint64_t id)
{
	int error = make(group, first, n);

	if (error)
		return error;
	group->fds[0] = leader;
	group->id = id;
	return 0;
}

int live_group_open(struct live_group *group, const struct live_events *events, unsigned first,
		    unsigned n, enum pmc_perf_group_kind kind, pid_t pid, int cpu)
{
	const struct pmc_perf_target target = { .kind = kind, .pid = pid, .cpu = cpu };
	const struct pmc_attr *attrs = &events->plan.attrs[first];
	struct pmc_attr attr;
	int error = make(group, first, n);

	if (error)
		return error;
	/* An uncore event is not among the plan's opened ones. */
	if (first >= events->plan.opened) {
		pmc_perf_group_attr(&events->plan.events[first].event, PMC_SCOPE_ALL, true, &attr);
		attrs = &attr;
	}
	error = pmc_perf_group_open(attrs, n, &target, group->fds, &group->id);
	if (error)
		live_group_free(group);
	return error;
}

bool live_group_read(struct live_group *group)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
	struct pmc_reading now;

	if (!group->fds)
		return false;
	pmc_perf_group_read(group->fds[0], group->id, group->n, &now, words);
	if (!now.n) {
		group->now.error = now.error;
		return false;
	}
	group->now = now;
	memcpy(group->words, words, group->n * sizeof(*words));
	return true;
}

void live_group_step(struct live_group *group)
{
	group->before = group->now;
	memcpy(group->words_before, group->words, group->n * sizeof(*group->words));
}

void live_group_close(struct live_group *group)
{
	if (group->fds)
		pmc_perf_group_close(group->fds, group->n);
	free(group->fds);
	group->fds = NULL;
}

void live_group_free(struct live_group *group)
{
	live_group_close(group);
	free(group->words);
	*group = (struct live_group){ .n = 0 };
}

static void add(struct pmc_count *to, const struct pmc_count *more)
{
	/* A row of CPUs or threads of which some were not counted is partial. */
	if (to->state == PMC_PARTIAL)
		return;
	if (to->state == PMC_NOT_COUNTED && !to->enabled_ns && !to->error) {
		*to = *more;
		to->added = pmc_count_value(more);
		return;
	}
	if (pmc_count_has_value(to) != pmc_count_has_value(more)) {
		to->state = PMC_PARTIAL;
		return;
	}
	to->added += pmc_count_value(more);
	to->raw += more->raw;
	to->enabled_ns += more->enabled_ns;
	to->running_ns += more->running_ns;
	if (more->state == PMC_SCALED)
		to->state = PMC_SCALED;
}

void live_group_add(const struct live_group *group, const struct live_events *events,
		    bool cumulative, struct pmc_count *counts)
{
	const uint64_t enabled =
		group->now.enabled_ns - (cumulative ? 0 : group->before.enabled_ns);
	const uint64_t running =
		group->now.running_ns - (cumulative ? 0 : group->before.running_ns);

	for (unsigned i = 0; i < group->n; i++) {
		struct pmc_count count = {
			.raw = group->words[i] - (cumulative ? 0 : group->words_before[i]),
			.enabled_ns = enabled,
			.running_ns = running,
			.state = running >= enabled ? PMC_COUNTED :
				 running	    ? PMC_SCALED :
						      PMC_NOT_COUNTED,
		};

		if (events->plan.events[group->first + i].state != PMC_COUNTED &&
		    group->first < events->plan.opened)
			continue;
		if (group->now.error || count.state == PMC_NOT_COUNTED) {
			count.state = PMC_NOT_COUNTED;
			count.error = group->now.error ? group->now.error : PMC_REASON_NEVER_RAN;
		}
		add(&counts[events->view_of[group->first + i]], &count);
	}
}

void live_counts_add(const struct live_events *events, struct pmc_count *to,
		     const struct pmc_count *more)
{
	for (unsigned e = 0; e < events->view.count; e++) {
		const struct pmc_event_def *def = &events->view.events[e].def;
		/* Not an uncore event in the row of another CPU, nor a thread that ended before it
		 * was counted. */
		const bool open =
			more[e].state != PMC_NOT_COUNTED || more[e].enabled_ns || more[e].error;

		if (open && (!def->state || def->type == PMC_TYPE_OS))
			add(&to[e], &more[e]);
	}
}
