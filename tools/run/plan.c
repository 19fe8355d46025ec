/* SPDX-License-Identifier: MIT */
/* plan.c - `pmctl run -n`: what each thread would open, and what cannot be opened here. */
#include "agent/core/base/advice.h"
#include "agent/core/event/event.h"
#include "agent/core/count/group.h"
#include "agent/core/plan/plan.h"
#include "agent/core/report/report.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *scope_note(const struct pmc_planned *p)
{
	if (p->flags & PMC_EVENT_FELL_BACK)
		return " (user mode only: not permitted to count the kernel)";
	return p->scope == PMC_SCOPE_USER   ? " (user mode)" :
	       p->scope == PMC_SCOPE_KERNEL ? " (kernel mode)" :
					      "";
}

/* Why it is not counted here, and what to do; the errno stays. */
static void print_refusal(const struct pmc_planned *p, const struct pmc_here *here)
{
	const struct pmc_tried tried = { .attr = &(const struct perf_event_attr){
						 .type = p->event.type,
						 .exclude_kernel = p->scope == PMC_SCOPE_USER,
					 } };
	char text[320], name[24];

	if (!p->error)
		return;
	if (p->error >= PMC_REASON_ADOPTED)
		printf(" (%s)", pmc_reason_text((uint32_t)p->error));
	else if (tool_perf_killed())
		printf(" (a seccomp filter kills whoever calls perf_event_open)");
	else
		printf(" (%s: %s)", pmc_error_name(p->error, name),
		       pmc_advice_text(p->error, &tried, here, text, sizeof(text)));
}

static unsigned count_machine(const struct pmc_plan *plan)
{
	unsigned n = 0;

	for (unsigned i = plan->opened; i < plan->count; i++)
		n += pmc_event_is_machine(&plan->events[i].event);
	return n;
}

/* The name, and on hybrid CPUs the type of core. */
static const char *label(const struct pmc_planned *p, char *buf, size_t cap)
{
	const char *type = p->event.core_type ? p->event.core_type : "";

	snprintf(buf, cap, "%s%s%s", p->event.name, type[0] ? "@" : "", type);
	return buf;
}

static void print_groups(const struct pmc_plan *plan)
{
	struct pmc_here here;
	char buf[512];

	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned counters = 0;

		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			counters += pmc_event_needs_pmu(&plan->events[i].event);
		printf("group %u: descriptors %u, PMU counters %u%s\n", g + 1,
		       plan->first[g + 1] - plan->first[g], counters,
		       plan->events[plan->first[g]].event.pinned ? ", pinned" : "");
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			printf("  %s%s\n", label(&plan->events[i], buf, sizeof(buf)),
			       scope_note(&plan->events[i]));
	}
	if (plan->opened + count_machine(plan) == plan->count)
		return;
	pmc_here_read(&here, NULL);
	puts("not counted here (pmctl doctor tells more):");
	for (unsigned i = plan->opened; i < plan->count; i++) {
		if (pmc_event_is_machine(&plan->events[i].event))
			continue;
		printf("  %s: %s", label(&plan->events[i], buf, sizeof(buf)),
		       pmc_state_name(plan->events[i].state));
		print_refusal(&plan->events[i], &here);
		putchar('\n');
	}
}

/* Each of its CPUs is one event. */
static void print_machine(const struct pmc_plan *plan)
{
	bool first = true;

	for (unsigned i = plan->opened; i < plan->count; i++) {
		const struct pmc_event *event = &plan->events[i].event;

		if (!pmc_event_is_machine(event))
			continue;
		if (first)
			puts("for the whole machine, by the job's first process:");
		first = false;
		printf("  %s on CPU %s\n", event->name, event->cpus);
	}
}

/* `auto` as the agent decides it. */
static const char *inherit_mode(enum pmc_inherit asked, const struct pmc_plan *plan)
{
	if (plan->opened == 0)
		return "off: nothing to inherit";
	switch (asked == PMC_INHERIT_AUTO ?
			(plan->hardware && !pmc_plan_fits_twice(plan, tool_perf_open) ?
				 PMC_INHERIT_CLOCK :
				 PMC_INHERIT_FULL) :
			asked) {
	case PMC_INHERIT_CLOCK:
		return "clock: unseen work is known in CPU time";
	case PMC_INHERIT_FULL:
		return "full: unseen work is known in every event";
	default:
		return "off: unseen work is not known";
	}
}

int run_print_plan(struct run *run)
{
	const char *text = run->config.events ? run->config.events : pmc_events_default;
	struct pmc_arena arena = { 0 };
	struct pmc_parse_error error;
	struct pmc_events events;
	struct pmc_plan plan;
	int code = 0;

	if (pmc_events_parse(text, NULL, &arena, &events, &error) != 0) {
		code = tool_fail(EXIT_OURS, "'%s': %s", text, error.text);
		goto out;
	}
	if (pmc_plan_make(&events, tool_perf_open, &arena, &plan) != 0) {
		code = tool_fail(EXIT_OURS, "out of memory");
		goto out;
	}
	if (tool_perf_killed())
		puts("a seccomp filter kills on perf_event_open: only OS accounting is left");
	print_groups(&plan);
	print_machine(&plan);
	printf("per thread: descriptors %u, groups %u; CPU time, faults and switches besides\n",
	       plan.opened, plan.groups);
	printf("inherit %s\n", inherit_mode(run->config.inherit, &plan));
out:
	pmc_arena_free(&arena);
	return code;
}
