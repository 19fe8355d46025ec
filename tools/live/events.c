/* SPDX-License-Identifier: MIT */
/* events.c - plans a list of events and the view that reports use, and opens its groups. */
#include "tools/live/events.h"
#include "tools/rows/fold.h"
#include "tools/cli/flags.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the view. */
static void add_event(struct live_events *events, unsigned i, bool machine, struct pmc_arena *arena)
{
	const struct pmc_planned *planned = &events->plan.events[i];
	const struct pmc_event *event = &planned->event;
	struct pmc_p_event *to = &events->list[events->view.count];

	*to = (struct pmc_p_event){
		.def = pmc_plan_def(planned),
		.name = pmc_event_label(event, arena),
		.unit = event->unit ? event->unit : "",
		.core_type = event->core_type ? event->core_type : "",
		.cpus = event->cpus ? event->cpus : "",
	};
	/* Events of the OS come from /proc. */
	if ((pmc_event_is_uncore(event) && machine) || pmc_event_is_of_os(event)) {
		to->def.state = PMC_COUNTED;
		to->def.error = 0;
	}
	events->view_of[i] = events->view.count++;
}

static void add_events(struct live_events *events, bool optional, bool machine,
		       struct pmc_arena *arena)
{
	const struct pmc_plan *plan = &events->plan;

	events->list = pmc_arena_alloc(arena, PMC_EVENTS_MAX * sizeof(*events->list));
	events->view.events = events->list;
	for (unsigned position = 0; position < PMC_EVENTS_MAX; position++)
		for (unsigned i = 0; i < plan->count; i++) {
			const enum pmc_state state = plan->events[i].state;

			if (plan->events[i].event.position != position)
				continue;
			if (!optional || state == PMC_COUNTED || state == PMC_NOT_PERMITTED)
				add_event(events, i, machine, arena);
			else
				events->view_of[i] = LIVE_ABSENT;
		}
}

int live_events_of_agent(struct live_events *events, const void *frame, size_t len,
			 struct pmc_arena *arena)
{
	struct pmc_plan *plan = &events->plan;
	const int error = pmc_plan_from_frame(frame, len, arena, plan);

	if (error)
		return error;
	for (unsigned i = 0; i < plan->count; i++) {
		struct pmc_planned *planned = &plan->events[i];

		/* The frame is not trusted. */
		if (planned->state < PMC_NOT_COUNTED || planned->state > PMC_NOT_PERMITTED)
			planned->state = i < plan->opened ? PMC_COUNTED : PMC_NOT_COUNTED;
	}
	add_events(events, false, false, arena);
	events->view.hash = plan->hash;
	return 0;
}

int live_events_plan(struct live_events *events, const char *text, bool optional, bool machine,
		     struct pmc_arena *arena)
{
	struct pmc_events parsed;
	const int code = tool_parse_events("--events", text, arena, &parsed);

	if (code)
		return code;
	pmc_plan_make(&parsed, tool_perf_open, arena, &events->plan);
	add_events(events, optional, machine, arena);
	return 0;
}

void live_events_refuse(struct live_events *events, int error)
{
	for (unsigned i = 0; i < events->view.count; i++) {
		struct pmc_event_def *def = &events->list[i].def;

		if (def->type == PMC_TYPE_OS || def->state != PMC_COUNTED)
			continue;
		def->state = PMC_NOT_PERMITTED;
		def->error = (uint32_t)-error;
	}
}

bool live_events_any(const struct live_events *events, bool os)
{
	for (unsigned e = 0; e < events->view.count; e++)
		if (live_event_is_open(events, e) ||
		    (os && events->view.events[e].def.type == PMC_TYPE_OS))
			return true;
	return false;
}

int live_events_fail(const struct live_events *events, const char *text, int code)
{
	char why[320] = "this machine has none of the events";

	for (unsigned i = 0; i < events->plan.count; i++)
		if (events->view_of[i] == 0)
			pmc_plan_why(&events->plan.events[i], events->plan.events[i].error, why,
				     sizeof(why));
	return tool_fail(code, "cannot count %s: %s",
			 events->view.count ? events->list[0].name : text, why);
}

/* ---- counts of the view ------------------------------------------------------------------- */

void live_counts_clear(const struct live_events *events, struct pmc_count *counts)
{
	for (unsigned e = 0; e < events->view.count; e++) {
		const struct pmc_event_def *def = &events->view.events[e].def;

		counts[e] = (struct pmc_count){ .state = PMC_NOT_COUNTED };
		if (def->state) {
			counts[e].state = def->state;
			counts[e].error = def->error;
		}
	}
}

void live_counts_os(const struct live_events *events, const struct live_span *span, bool waits,
		    struct pmc_count *counts)
{
	for (unsigned e = 0; e < events->view.count; e++) {
		const struct pmc_event_def *def = &events->view.events[e].def;
		const bool delay = def->config == PMC_OS_RUN_DELAY;

		if (def->type == PMC_TYPE_OS && (waits || !delay))
			counts[e] = (struct pmc_count){
				.state = PMC_COUNTED,
				.raw = delay			       ? span->delay_ns :
				       def->config == PMC_OS_USER_TIME ? span->user_ns :
				       def->config == PMC_OS_ELAPSED   ? span->ns :
									 span->system_ns,
				.enabled_ns = span->ns,
				.running_ns = span->ns,
			};
	}
}

struct table_cell live_event_cell(const struct live_events *events, const struct pmc_count *counts,
				  unsigned event)
{
	const struct pmc_count *count = &counts[event];
	const double value =
		(double)pmc_count_value(count) * pmc_event_scale(&events->view.events[event]);
	struct table_cell cell;

	if (!pmc_count_has_value(count))
		return cell_null();
	cell = cell_double(value, TABLE_SCALED_DECIMALS);
	cell.estimate = count->state == PMC_SCALED;
	return cell;
}

/* Real stall events take the place of the lower bound. */
bool live_shows_metric(const struct live_events *events, unsigned metric)
{
	const struct pmc_p_set_view *view = &events->view;
	bool stalls = !strncmp(pmc_metrics[metric].name, "stall_", 6);

	if (pmc_metric_is_accounting(metric) || !pmc_metric_applies(metric, view) ||
	    !(pmc_metrics[metric].table || stalls))
		return false;
	if (pmc_formulas[metric].kind != EXCESS_PCT)
		return true;
	for (unsigned m = 0; m < pmc_n_metrics; m++) {
		struct pmc_metric_events of;

		if (m == metric || strncmp(pmc_metrics[m].name, "stall_", 6) != 0)
			continue;
		if (pmc_metric_events(m, view, NULL, &of) && !view->events[of.a].def.state)
			return false;
	}
	return true;
}

struct table_cell live_metric_cell(const struct live_events *events, const struct pmc_count *counts,
				   unsigned metric)
{
	struct pmc_metric_events of;
	struct pmc_ratio ratio = { 0 };
	struct table_cell cell;
	double value;

	if (pmc_metric_events(metric, &events->view, counts, &of))
		pmc_ratio_take(metric, &of, &events->view, counts, &ratio);
	if (!pmc_ratio_value(metric, &ratio, &value))
		return cell_null();
	cell = cell_real(value, TABLE_DECIMALS);
	cell.estimate = ratio.state != PMC_RATIO_EXACT;
	return cell;
}

/* ---- groups that are open on a thread or CPU ------------------------------------------------ */

static struct live_group *append(struct live_groups *groups, unsigned first, unsigned n)
{
	struct live_group *group;

	groups->list = tool_realloc(groups->list, (groups->n + 1) * sizeof(*group));
	group = &groups->list[groups->n++];
	*group = (struct live_group){ .first = first, .n = n, .cpu = -1 };
	group->words = tool_realloc(NULL, n * (2 * sizeof(*group->words) + sizeof(*group->fds)));
	group->words_before = group->words + n;
	memset(group->words, 0, 2 * n * sizeof(*group->words));
	group->fds = (int *)(group->words_before + n);
	for (unsigned i = 0; i < n; i++)
		group->fds[i] = -1;
	return group;
}

void live_groups_take(struct live_groups *groups, unsigned first, unsigned n, int leader,
		      uint64_t id)
{
	struct live_group *group = append(groups, first, n);

	group->fds[0] = leader;
	group->id = id;
}

int live_groups_add(struct live_groups *groups, const struct live_events *events, unsigned first,
		    unsigned n, enum pmc_perf_group_kind kind, pid_t pid, int cpu)
{
	const struct pmc_perf_target target = { .kind = kind, .pid = pid, .cpu = cpu };
	const struct pmc_attr *attrs = &events->plan.attrs[first];
	struct live_group *group = append(groups, first, n);
	struct pmc_attr attr;
	int error;

	group->cpu = cpu;
	/* An uncore event is not among the plan's opened ones. */
	if (first >= events->plan.opened) {
		pmc_perf_group_attr(&events->plan.events[first].event, PMC_SCOPE_ALL, true, &attr);
		attrs = &attr;
	}
	error = pmc_perf_group_open(attrs, n, &target, group->fds, &group->id);
	if (error)
		free(groups->list[--groups->n].words);
	return error;
}

int live_groups_open(struct live_groups *groups, const struct live_events *events,
		     enum pmc_perf_group_kind kind, pid_t pid, int cpu)
{
	const struct pmc_plan *plan = &events->plan;
	int error = 0;

	for (unsigned g = 0; g < plan->groups && !error; g++) {
		const char *type = plan->events[plan->first[g]].event.core_type;

		error = live_groups_add(groups, events, plan->first[g],
					plan->first[g + 1] - plan->first[g], kind, pid, cpu);
		/* A CPU of another type. */
		if (error == -ENOENT && cpu >= 0 && type && *type)
			error = 0;
	}
	return error;
}

void live_groups_enable(const struct live_groups *groups)
{
	for (unsigned g = 0; g < groups->n; g++)
		if (groups->list[g].fds)
			pmc_perf_group_enable(groups->list[g].fds[0]);
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
	group->fds = NULL;
}

void live_groups_free(struct live_groups *groups)
{
	for (unsigned g = 0; g < groups->n; g++) {
		live_group_close(&groups->list[g]);
		free(groups->list[g].words);
	}
	free(groups->list);
	*groups = (struct live_groups){ .n = 0 };
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
		/* Not an uncore event in the row of another CPU, nor a thread that ended before it
		 * was counted. */
		const bool open =
			more[e].state != PMC_NOT_COUNTED || more[e].enabled_ns || more[e].error;

		if (open && !events->view.events[e].def.state)
			add(&to[e], &more[e]);
	}
}
