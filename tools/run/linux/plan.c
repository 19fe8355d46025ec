/* SPDX-License-Identifier: MIT */
/* plan.c - `pmctl run -n`: the groups each thread would open, samples and waits, and events
 * unavailable here. */
#include "lib/base/advice.h"
#include "lib/event/event.h"
#include "lib/plan/plan.h"
#include "lib/dump/words.h"
#include "tools/cli/flags.h"
#include "tools/run/run.h"
#include "tools/cli/try_open.h"

#include <stdio.h>
#include <unistd.h>

static const char *scope_note(const struct pmc_planned *p)
{
	if (p->flags & PMC_EVENT_FELL_BACK)
		return " (user mode only: not permitted to count the kernel)";
	if (p->flags & PMC_EVENT_UNFILTERED && p->event.asked_scope)
		return " (user and kernel mode: :u and :k have no effect on it)";
	return p->scope == PMC_SCOPE_USER   ? " (user mode)" :
	       p->scope == PMC_SCOPE_KERNEL ? " (kernel mode)" :
					      "";
}

/* Why the event is not counted here, with its errno, and the fix. */
static const char *refusal(const struct pmc_planned *p, const struct pmc_here *here, char *why,
			   size_t cap)
{
	struct pmc_attr attr;
	const struct pmc_tried tried = pmc_plan_tried(p, &attr);
	char text[320], name[24];

	if (!p->error)
		return "";
	if (p->error >= PMC_REASON_ADOPTED)
		snprintf(why, cap, " (%s)", pmc_reason_text((uint32_t)p->error));
	else if (tool_perf_killed())
		snprintf(why, cap, " (a seccomp filter kills on perf_event_open)");
	else
		snprintf(why, cap, " (%s: %s)", pmc_error_name(p->error, name),
			 pmc_advice_text(p->error, &tried, here, text, sizeof(text)));
	return why;
}

/* Uncore events and those of the OS, which are counted without a group. */
static bool needs_no_group(const struct pmc_event *event)
{
	return pmc_event_is_uncore(event) || pmc_event_is_of_os(event);
}

static unsigned count_others(const struct pmc_plan *plan)
{
	unsigned n = 0;

	for (unsigned i = plan->opened; i < plan->count; i++)
		n += needs_no_group(&plan->events[i].event);
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
	char buf[512], why[400];

	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned counters = 0;

		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			counters += pmc_event_needs_pmu(&plan->events[i].event);
		printf("group %u: descriptors %u, PMU counters %u%s\n", g + 1,
		       plan->first[g + 1] - plan->first[g], counters,
		       plan->events[plan->first[g]].event.pinned ? ", pinned" : "");
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			tool_line("  %s%s", label(&plan->events[i], buf, sizeof(buf)),
				  scope_note(&plan->events[i]));
	}
	if (plan->opened + count_others(plan) == plan->count)
		return;
	pmc_here_read(&here, NULL);
	puts("not counted here (see pmctl doctor):");
	for (unsigned i = plan->opened; i < plan->count; i++) {
		if (needs_no_group(&plan->events[i].event))
			continue;
		tool_line("  %s: %s%s", label(&plan->events[i], buf, sizeof(buf)),
			  pmc_state_name(plan->events[i].state),
			  refusal(&plan->events[i], &here, why, sizeof(why)));
	}
}

/* Events that are counted without a group: uncore events, or those of the OS. */
static void print_others(const struct pmc_plan *plan, bool (*is)(const struct pmc_event *),
			 const char *heading)
{
	for (unsigned i = plan->opened; i < plan->count; i++) {
		const struct pmc_event *event = &plan->events[i].event;
		const char *cpu = event->cpus ? event->cpus : "";

		if (!is(event))
			continue;
		if (heading)
			puts(heading);
		heading = NULL;
		tool_line("  %s%s%s", event->name, *cpu ? " on CPU " : "", cpu);
	}
}

/* Resolves `auto` as the agent does. */
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
		return "clock: CPU time of work outside thread rows";
	case PMC_INHERIT_FULL:
		return "full: every event of work outside thread rows";
	default:
		return "off: work outside thread rows is not counted";
	}
}

int run_make_plan(struct run *run)
{
	const char *text = run->config.events ? run->config.events : pmc_events_default;
	struct pmc_events events;

	if (tool_parse_events("--events", text, &run->arena, &events))
		return EXIT_OURS;
	return pmc_plan_make(&events, tool_perf_open, &run->arena, &run->plan) ?
		       tool_fail(EXIT_OURS, "cannot plan the events '%s'", text) :
		       0;
}

/* Tries it on this process, which calls no exec: nothing is recorded. */
static int print_waits(struct run *run, bool frame_pointers)
{
	int code = off_cpu_start(&run->off_cpu, getpid(), frame_pointers);

	if (run->off_cpu)
		off_cpu_stop(run->off_cpu);
	off_cpu_free(run->off_cpu);
	run->off_cpu = NULL;
	if (!code)
		puts("waits: each context switch, recorded by pmctl from outside");
	return code;
}

static int print_stacks(struct run *run)
{
	const bool frame_pointers = run->config.unwind == PMC_UNWIND_FP;
	int code = 0;

	if (run->config.sample.on)
		run_print_samples(run);
	if (run->off_cpu_wanted)
		code = print_waits(run, frame_pointers);
	if (!code && (run->config.sample.on || run->off_cpu_wanted))
		printf("call stacks by %s\n", frame_pointers ? "frame pointers" : "unwind tables");
	return code;
}

int run_print_plan(struct run *run)
{
	int code = run_make_plan(run);

	if (code)
		return code;
	if (tool_perf_killed())
		puts("a seccomp filter kills on perf_event_open: OS accounting only");
	print_groups(&run->plan);
	print_others(&run->plan, pmc_event_is_uncore,
		     "for the whole machine, in the first process of the job:");
	if (run->plan.os)
		print_others(&run->plan, pmc_event_is_of_os,
			     "from /proc and getrusage, at the end of threads and in snapshots:");
	printf("per thread: descriptors %u, groups %u; also CPU time, faults and switches\n",
	       run->plan.opened, run->plan.groups);
	printf("inherit %s\n", inherit_mode(run->config.inherit, &run->plan));
	return print_stacks(run);
}
