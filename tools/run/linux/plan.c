/* SPDX-License-Identifier: MIT */
/*
 * plan.c - what is counted and sampled here: printed by `pmctl run -n`, and counted by pmctl for a
 * program that cannot load the agent.
 *
 * Groups of pmctl are opened on the child before its exec, start with the exec and are inherited by
 * its children. For such programs only: in others they would compete for counters with the agent's.
 */
#include "lib/base/advice.h"
#include "lib/count/group.h"
#include "lib/dump/frame.h"
#include "lib/dump/words.h"
#include "lib/event/event.h"
#include "lib/plan/plan.h"
#include "tools/cli/flags.h"
#include "tools/cli/try_open.h"
#include "tools/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- samples -------------------------------------------------------------------------------- */

struct choice {
	const char *name;
	struct pmc_attr attr;
	int error; /* of opening it: -errno */
	bool many; /* samples per second */
};

static void try_event(struct run *run, const char *name, struct choice *choice)
{
	const struct pmc_config_sample *asked = &run->config.sample;
	struct pmc_parse_error error;
	struct pmc_events events;
	int fd;

	*choice = (struct choice){ .name = name };
	choice->error = pmc_events_parse(name, NULL, &run->arena, &events, &error);
	if (choice->error)
		return;
	pmc_perf_sample_attr(&events.list[0], asked, &choice->attr);
	choice->many = pmc_sample_rate(&events.list[0], asked) > PMC_SAMPLE_HZ_CHEAP;
	fd = tool_perf_open(&choice->attr, -1);
	choice->error = fd < 0 ? fd : 0;
	if (fd >= 0)
		close(fd);
}

/* As the agent does. */
static void choose(struct run *run, struct choice *choice)
{
	const struct pmc_config_sample *asked = &run->config.sample;
	const char *name = asked->event_len ?
				   pmc_arena_strndup(&run->arena, asked->event, asked->event_len) :
				   "cycles";

	try_event(run, name, choice);
	if (choice->error && !asked->event_len)
		try_event(run, "task-clock", choice);
}

/* Why the event cannot be opened, and the fix. */
static const char *sample_refusal(const struct choice *choice, char *text, size_t cap)
{
	const struct pmc_tried tried = { .attr = &choice->attr.base };
	struct pmc_here here;

	if (tool_perf_killed())
		return TOOL_KILLED_TEXT;
	pmc_here_read(&here, NULL);
	return pmc_advice_text(choice->error, &tried, &here, text, cap);
}

static void warn_of_none(struct run *run, const char *source, const struct choice *choice)
{
	struct choice clock = { .error = choice->error };
	char text[320];

	if (run->config.sample.event_len)
		try_event(run, "task-clock", &clock);
	tool_warn("nothing is sampled: %s, the event of %s, cannot be opened: %s%s", choice->name,
		  source, sample_refusal(choice, text, sizeof(text)),
		  clock.error ? "" : "; or sample task-clock");
}

static void check_samples(struct run *run)
{
	const char *source = run->sample_flag ? "--sample" : "PMC_SAMPLE";
	struct choice choice;

	if (!run->config.sample.on)
		return;
	choose(run, &choice);
	if (choice.error)
		warn_of_none(run, source, &choice);
	else if (choice.many)
		tool_warn("%s=%s: with more than %u samples per second the program may take "
			  "twice as long, or longer; sample less often, such as by %s/997",
			  source, run->config.sample.event, PMC_SAMPLE_HZ_CHEAP, choice.name);
}

static void print_samples(struct run *run)
{
	const struct pmc_config_sample *asked = &run->config.sample;
	struct choice choice;
	char text[320];

	choose(run, &choice);
	if (choice.error)
		tool_line("samples: none: %s cannot be opened: %s", choice.name,
			  sample_refusal(&choice, text, sizeof(text)));
	else if (asked->period)
		tool_line("samples: every %llu %s, in user mode; per thread: descriptors 1",
			  (unsigned long long)asked->period, choice.name);
	else
		tool_line("samples: %llu per second of CPU time by %s, in user mode; per thread: "
			  "descriptors 1",
			  (unsigned long long)asked->frequency, choice.name);
}

/* ---- the plan ------------------------------------------------------------------------------- */

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

/* Uncore events and those of the OS, which are counted without a group. */
static bool needs_no_group(const struct pmc_event *event)
{
	return pmc_event_is_uncore(event) || pmc_event_is_of_os(event);
}

static void print_groups(struct run *run)
{
	const struct pmc_plan *plan = &run->plan;
	const char *heading = "not counted here (see pmctl doctor):\n";
	char why[400];

	for (unsigned g = 0; g < plan->groups; g++) {
		unsigned counters = 0;

		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			counters += pmc_event_needs_pmu(&plan->events[i].event);
		printf("group %u: descriptors %u, PMU counters %u%s\n", g + 1,
		       plan->first[g + 1] - plan->first[g], counters,
		       plan->events[plan->first[g]].event.pinned ? ", pinned" : "");
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			tool_line("  %s%s", pmc_event_label(&plan->events[i].event, &run->arena),
				  scope_note(&plan->events[i]));
	}
	for (unsigned i = plan->opened; i < plan->count; i++) {
		const struct pmc_planned *p = &plan->events[i];

		if (needs_no_group(&p->event))
			continue;
		fputs(heading, stdout);
		heading = "";
		pmc_plan_why(p, p->error, why, sizeof(why));
		tool_line("  %s: %s (%s)", pmc_event_label(&p->event, &run->arena),
			  pmc_state_name(p->state), why);
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
	if (asked == PMC_INHERIT_AUTO)
		asked = plan->hardware && !pmc_plan_fits_twice(plan, tool_perf_open) ?
				PMC_INHERIT_CLOCK :
				PMC_INHERIT_FULL;
	switch (asked) {
	case PMC_INHERIT_CLOCK:
		return "clock: CPU time of work outside thread rows";
	case PMC_INHERIT_FULL:
		return "full: every event of work outside thread rows";
	default:
		return "off: work outside thread rows is not counted";
	}
}

/* totals: of a program without the agent, which takes events from accounts. */
static int make_plan(struct run *run, bool totals)
{
	const char *text = run->config.events ? run->config.events : pmc_events_default;
	struct pmc_events events;

	if (tool_parse_events("--events", text, &run->arena, &events))
		return EXIT_OURS;
	if (!totals)
		pmc_events_account(&events, !run->config.interval && !run->config.dump);
	return pmc_plan_make(&events, tool_perf_open, &run->arena, &run->plan) ?
		       tool_fail(EXIT_OURS, "cannot plan the events '%s'", text) :
		       0;
}

/* Why an event gets no counts; false: it is counted. */
static bool is_refused(const struct pmc_planned *p, char *why, size_t cap)
{
	int error = 0;

	if (pmc_event_is_uncore(&p->event))
		error = -tool_event_try(&p->event, PMC_SCOPE_ALL, atoi(p->event.cpus));
	else if (!pmc_event_is_of_os(&p->event) && p->group == PMC_NO_GROUP)
		error = p->error;
	else
		return false;
	pmc_plan_why(p, error, why, cap);
	return error;
}

int run_check_events(struct run *run)
{
	char why[400];
	struct choice choice;
	int code = run->strict && run->config.events ? make_plan(run, false) : 0;

	if (!run->strict || code)
		return code;
	for (unsigned i = 0; i < run->plan.count; i++)
		if (is_refused(&run->plan.events[i], why, sizeof(why)))
			code = tool_fail(EXIT_OURS, "cannot count %s: %s",
					 pmc_event_label(&run->plan.events[i].event, &run->arena),
					 why);
	if (run->config.sample.on)
		choose(run, &choice);
	if (run->config.sample.on && choice.error)
		code = tool_fail(EXIT_OURS, "cannot sample %s: %s", choice.name,
				 sample_refusal(&choice, why, sizeof(why)));
	/* A plan that is left would count totals of the command. */
	run->plan = (struct pmc_plan){ .count = 0 };
	return code;
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
		print_samples(run);
	if (run->off_cpu_wanted)
		code = print_waits(run, frame_pointers);
	if (!code && (run->config.sample.on || run->off_cpu_wanted))
		printf("call stacks by %s\n", frame_pointers ? "frame pointers" : "unwind tables");
	return code;
}

int run_print_plan(struct run *run)
{
	int code = make_plan(run, false);

	if (code)
		return code;
	if (tool_perf_killed())
		puts("a seccomp filter kills on perf_event_open: OS accounting only");
	print_groups(run);
	print_others(&run->plan, pmc_event_is_uncore,
		     "for the whole machine, in the first process of the job:");
	print_others(&run->plan, pmc_event_is_of_os,
		     "from the kernel's accounts of each thread, without a descriptor:");
	printf("per thread: descriptors %u, groups %u; also CPU time, faults and switches\n",
	       run->plan.opened, run->plan.groups);
	printf("inherit %s\n", inherit_mode(run->config.inherit, &run->plan));
	return print_stacks(run);
}

/* ---- totals of a program that cannot load the agent ----------------------------------------- */

int run_prepare(struct run *run)
{
	check_samples(run);
	for (unsigned i = 0; i < PMC_EVENTS_MAX; i++)
		run->totals.fds[i] = -1;
	return program_obstacle[run->program.kind] && !run->program.hidden ? make_plan(run, true) :
									     0;
}

void run_totals_open(struct run *run)
{
	struct run_totals *totals = &run->totals;
	const struct pmc_plan *plan = &run->plan;
	const struct pmc_perf_target target = { .kind = PMC_PERF_GROUP_EXEC,
						.pid = run->child.pid,
						.cpu = -1 };

	for (unsigned g = 0; g < plan->groups && !totals->error; g++)
		totals->error = pmc_plan_open_group(plan, g, &target, totals->fds + plan->first[g],
						    &totals->ids[g]);
	if (!totals->error)
		return;
	pmc_perf_group_close(totals->fds, plan->opened);
	tool_warn("no totals of %s: cannot open its counters: %s; see pmctl doctor", run->cmd[0],
		  strerror(-totals->error));
}

/* Finds an event of the plan among counts, which are in the user's order: those of another list of
 * events are not the same ones. */
static const struct pmc_count *count_of(const struct pmc_p_set_view *set,
					const struct pmc_count *counts,
					const struct pmc_event *event)
{
	const char *core_type = event->core_type ? event->core_type : "";

	for (unsigned i = 0; i < set->count; i++)
		if (set->events[i].def.position == event->position &&
		    set->events[i].def.type == event->type &&
		    set->events[i].def.config == event->config &&
		    !strcmp(set->events[i].name, event->name) &&
		    !strcmp(set->events[i].core_type, core_type))
			return &counts[i];
	return NULL;
}

static void subtract(const struct run *run, unsigned g, const struct pmc_p_set_view *set,
		     const struct pmc_count *counts, struct pmc_reading *reading, uint64_t *values)
{
	const struct pmc_plan *plan = &run->plan;

	if (!set || !counts)
		return;
	for (unsigned i = 0; i < reading->n; i++) {
		const struct pmc_count *count =
			count_of(set, counts, &plan->events[plan->first[g] + i].event);
		const bool scaled =
			count && (count->state == PMC_SCALED || count->error == PMC_REASON_SCALED);

		if (scaled) {
			*reading = (struct pmc_reading){ .error = PMC_REASON_SCALED };
			return;
		}
		if (count && pmc_count_has_value(count))
			values[i] -= count->raw < values[i] ? count->raw : values[i];
	}
}

/* Subtracts the jobs of programs that this one started: their rows, their unattributed counts, and
 * their descendants. */
static void subtract_jobs(const struct run *run, unsigned g, const struct pmc_profile *profile,
			  struct pmc_reading *reading, uint64_t *values)
{
	struct pmc_thread_buf buf;

	for (uint64_t t = 0; reading->n && t < profile->n_threads; t++) {
		const struct pmc_p_thread *row =
			pmc_profile_thread(profile, profile->threads[t], &buf);

		subtract(run, g, row->set, row->counts, reading, values);
	}
	for (uint64_t i = 0; reading->n && i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		subtract(run, g, process->unattributed.set, process->unattributed.counts, reading,
			 values);
		subtract(run, g, process->descendants.set, process->descendants.counts, reading,
			 values);
	}
}

void run_totals_frames(const struct run *run, const struct pmc_profile *profile,
		       const uint8_t identity[16], struct pmc_frame_buf *buf)
{
	const struct run_totals *totals = &run->totals;
	const struct pmc_plan *plan = &run->plan;
	struct pmc_total_fixed fixed = {
		.kind = PMC_TOTAL_THREADS,
		.flags = PMC_TOTAL_WITH_FORKS,
		.time_ns = run->child.end_ns,
	};

	if (totals->error || !plan->hash)
		return;
	fixed.n_groups = (uint16_t)plan->groups;
	fixed.eventset = pmc_plan_frame(plan, buf);
	pmc_frame_begin(buf, PMC_FRAME_TOTAL, identity, 1, &fixed, sizeof(fixed));
	for (unsigned g = 0; g < plan->groups; g++) {
		uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
		unsigned first = plan->first[g];
		struct pmc_reading reading;

		pmc_perf_group_read(totals->fds[first], totals->ids[g], plan->first[g + 1] - first,
				    &reading, words);
		subtract_jobs(run, g, profile, &reading, words);
		pmc_put_reading(buf, &reading, words);
	}
	pmc_frame_end(buf);
}
