/* SPDX-License-Identifier: MIT */
/*
 * unattributed.c - work outside the rows: totals of inherit groups and of processes minus the rows
 * that they cover.
 *
 * The exec group of a job's first process counts exec'd descendants at all depths. An exec of the
 * first process starts new totals: the rows of a covered process are subtracted from the totals of
 * the first process that started last before it.
 */
#include "tools/rows/tables.h"
#include "lib/event/event.h"

#include <string.h>

/* perf_event_attr of task-clock: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK. */
#define SOFTWARE   1
#define TASK_CLOCK 1

struct open_total {
	struct pmc_p_remainder *rest; /* of rows so far; rest->set NULL: no such total */
	/* For each event of the total its index in the last row's set; -1: not in it. */
	const struct pmc_p_set_view *mapped;
	int map[PMC_SET_EVENTS_MAX];
};

struct open_totals {
	struct open_total threads, execs;
	bool with_forks; /* the thread group counted forked children and what they exec'd too */
};

static bool is_task_clock(const struct pmc_p_event *event)
{
	return event->def.type == SOFTWARE && event->def.config == TASK_CLOCK;
}

static bool same_event(const struct pmc_p_event *a, const struct pmc_p_event *b)
{
	return a->def.type == b->def.type && a->def.config == b->def.config &&
	       a->def.config1 == b->def.config1 && a->def.config2 == b->def.config2 &&
	       a->def.config3 == b->def.config3 && a->def.scope == b->def.scope &&
	       strcmp(a->core_type, b->core_type) == 0;
}

/* The index in `set` of the same event, the n-th of equal ones for the n-th; -1: none. */
static int find_event(const struct pmc_p_set_view *set, const struct pmc_p_set_view *of,
		      unsigned event)
{
	unsigned nth = 0;

	for (unsigned i = 0; i < event; i++)
		nth += same_event(&of->events[i], &of->events[event]);
	for (unsigned i = 0; set && i < set->count; i++)
		if (same_event(&set->events[i], &of->events[event]) && nth-- == 0)
			return (int)i;
	return -1;
}

static void invalidate(struct pmc_count *count, uint32_t reason)
{
	if (pmc_count_has_value(count))
		*count = (struct pmc_count){ .state = PMC_NOT_COUNTED, .error = reason };
}

/* The loader's CPU time, before the agent. */
static uint64_t loader_ns(const struct pmc_p_thread *row)
{
	return row->fixed.flags & PMC_THREAD_MAIN ? row->process->fixed.pre_cpu_ns : 0;
}

/* CPU time that an inherit group can have counted: since the agent started. */
static uint64_t row_cpu_ns(const struct pmc_p_thread *row)
{
	if (row->fixed.flags & (PMC_THREAD_ADOPTED | PMC_THREAD_NO_CPU))
		return 0;
	return pmc_sub_sat(row->fixed.cpu_ns, loader_ns(row));
}

/* The row's task-clock as the total's group counted it, which the agent opened: the CPU clock has
 * the loader's time, too. */
static uint64_t counted_ns(const struct pmc_p_thread *row, int at)
{
	const uint64_t ns = row->counts[at].raw;

	return row->set->events[at].def.flags & PMC_EVENT_ACCOUNTED ?
		       pmc_sub_sat(ns, loader_ns(row)) :
		       ns;
}

/* CPU time of a row by the clock of the total, task-clock: of a virtual CPU it includes the time in
 * which the hypervisor ran something else, which the CPU clock leaves out. The CPU clock includes
 * the thread's start and end. at < 0: the row has no task-clock. */
static uint64_t row_task_ns(const struct pmc_p_thread *row, int at)
{
	uint64_t ns = row->fixed.flags & PMC_THREAD_NO_CPU ? 0 : row->fixed.cpu_ns, counted;

	if (at < 0 || row->counts[at].state != PMC_COUNTED)
		return ns;
	counted = counted_ns(row, at) + loader_ns(row);
	return counted > ns ? counted : ns;
}

/* Work that a row has no count of stays in the total, unless the row's event set is lost. Clocks
 * run on between the readings of rows and total: a difference below 0 is 0. */
static void subtract_row(struct open_total *total, const struct pmc_p_thread *row)
{
	const struct pmc_p_set_view *set = total->rest->set;
	const bool lost = !row->set && row->fixed.eventset;
	int clock_at = -1;

	if (!set)
		return;
	for (unsigned i = 0; row->set != total->mapped && i < set->count; i++)
		total->map[i] = find_event(row->set, set, i);
	total->mapped = row->set;
	for (unsigned i = 0; i < set->count; i++) {
		struct pmc_count *count = &total->rest->counts[i];
		const int at = total->map[i];
		const bool clock = is_task_clock(&set->events[i]);

		if (at >= 0 && clock)
			clock_at = at;
		if (at < 0 && clock)
			count->raw = pmc_sub_sat(count->raw, row_cpu_ns(row));
		else if (at < 0 && lost)
			invalidate(count, PMC_REASON_SET_LOST);
		else if (at >= 0 && row->counts[at].state == PMC_SCALED)
			invalidate(count, PMC_REASON_SCALED);
		else if (at >= 0 && row->counts[at].state == PMC_COUNTED)
			count->raw = pmc_sub_sat(count->raw,
						 clock ? counted_ns(row, at) : row->counts[at].raw);
	}
	total->rest->cpu_ns = pmc_sub_sat(total->rest->cpu_ns, row_task_ns(row, clock_at));
}

/* For a thread group that counted exec'd descendants: subtracts those without a row. */
static void subtract_execs(struct pmc_p_remainder *threads, const struct pmc_p_remainder *execs)
{
	for (unsigned i = 0; i < threads->set->count; i++) {
		const int at = find_event(execs->set, threads->set, i);

		if (at < 0 || !pmc_count_has_value(&execs->counts[at]))
			invalidate(&threads->counts[i],
				   at < 0 ? PMC_REASON_SET_LOST : execs->counts[at].error);
		else
			threads->counts[i].raw =
				pmc_sub_sat(threads->counts[i].raw, execs->counts[at].raw);
	}
}

static void open_total(struct pmc_profile *profile, struct open_total *total, bool was_on,
		       struct pmc_p_remainder *rest, const struct table_frame *frame)
{
	profile_total(profile, frame, was_on, rest);
	total->rest = rest;
	memset(total->map, 0xff, sizeof(total->map));
	for (unsigned i = 0; rest->set && i < rest->set->count; i++) {
		struct pmc_count *count = &rest->counts[i];

		/* An exec group that no exec enabled is a count of 0. */
		if (frame->key->number == PMC_TOTAL_EXEC && count->error == PMC_REASON_NOT_STARTED)
			*count = (struct pmc_count){ .state = PMC_COUNTED };
		if (count->state == PMC_SCALED)
			invalidate(count, PMC_REASON_SCALED);
		if (is_task_clock(&rest->set->events[i]) && pmc_count_has_value(count)) {
			rest->has_cpu = true;
			rest->cpu_ns = count->raw;
		}
	}
}

bool profile_is_first(const struct pmc_p_process *p)
{
	return p->known && (p->fixed.flags & PMC_PROCESS_FIRST);
}

static void open_totals_of(struct pmc_profile *profile, struct pmc_p_process *p)
{
	const struct table_frame *threads = p->totals[PMC_TOTAL_THREADS];
	/* Counting was switched on in the life of the process. */
	const bool was_on = p->fixed.off_ns && pmc_process_on_ns(&p->fixed);
	const bool first = profile_is_first(p);
	struct pmc_total_fixed fixed = { 0 };

	p->open = pmc_arena_alloc(&profile->arena, sizeof(*p->open));
	if (threads)
		pmc_frame_fixed(&threads->frame, &fixed, sizeof(fixed));
	p->open->with_forks = fixed.flags & PMC_TOTAL_WITH_FORKS;
	/* Without a PROCESS frame the rows of descendants are not known. */
	open_total(profile, &p->open->threads, was_on, &p->unattributed,
		   first || !p->open->with_forks ? threads : NULL);
	open_total(profile, &p->open->execs, false, &p->descendants,
		   first ? p->totals[PMC_TOTAL_EXEC] : NULL);
}

void profile_subtract_row(struct pmc_p_process *process, const struct pmc_p_thread *row)
{
	struct open_totals *above = NULL;

	if (process->open)
		subtract_row(&process->open->threads, row);
	if (process->root && process->root != process)
		above = process->root->open;
	if (above && (process->fixed.flags & PMC_PROCESS_COVERED))
		subtract_row(&above->execs, row);
	if (above && above->with_forks)
		subtract_row(&above->threads, row);
}

void profile_open_totals(struct pmc_profile *profile)
{
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *p = profile->processes[i];

		if (p->totals[PMC_TOTAL_THREADS] || p->totals[PMC_TOTAL_EXEC])
			open_totals_of(profile, p);
		profile_total(profile, p->totals[PMC_TOTAL_UNCORE], false, &p->machine);
	}
}

/* CPU time of ended descendants in no row, by wait4(2) in the job's first process: programs without
 * an agent, children killed before their first row, and the exit of each process. */
static void close_unseen(struct pmc_p_process *p)
{
	struct pmc_p_remainder *rest = &p->descendants;
	uint64_t unseen = pmc_sub_sat(p->children_cpu_ns, p->seen_cpu_ns);

	if (!p->children_cpu_ns || p->phases)
		return;
	/* A group that no exec enabled counted none of it. */
	for (unsigned i = 0; unseen && rest->set && i < rest->set->count; i++)
		if (!rest->counts[i].enabled_ns)
			invalidate(&rest->counts[i], PMC_REASON_NONE);
	/* Both are lower bounds: an exec group has children that still run, but none by fork. */
	if (!rest->has_cpu || rest->cpu_ns < unseen)
		rest->cpu_ns = unseen;
	rest->has_cpu = true;
}

/* CPU time of a process outside its rows (raw threads) is not that of descendants, although the
 * exec group counted it. */
static void subtract_rest(const struct pmc_p_process *p)
{
	struct pmc_p_remainder *rest;

	if (!p->root || p->root == p || !p->root->open || !(p->fixed.flags & PMC_PROCESS_COVERED))
		return;
	rest = &p->root->descendants;
	rest->cpu_ns =
		pmc_sub_sat(rest->cpu_ns, pmc_sub_sat(p->fixed.cpu_ns, p->attributed_cpu_ns));
}

/* What the kernel accounts to the work of `rest`, in place of a perf event: of a process it does
 * not say more than CPU time, faults and switches. Each is known or not. */
static void add_accounted(struct pmc_profile *profile, const struct pmc_p_process *p,
			  struct pmc_p_remainder *rest, const struct pmc_accounted *work,
			  bool clock, bool usage)
{
	if (!p->accounted || (!rest->set && !clock && !usage))
		return;
	if (!rest->set) {
		rest->set = p->accounted;
		rest->counts = pmc_arena_alloc(&profile->arena,
					       (rest->set->count + 1) * sizeof(*rest->counts));
		for (unsigned i = 0; i < rest->set->count; i++)
			rest->counts[i] = (struct pmc_count){
				.state = PMC_NOT_COUNTED,
				.error = rest->set->events[i].def.flags & PMC_EVENT_ACCOUNTED ?
						 PMC_REASON_OS :
						 PMC_REASON_NONE,
			};
	}
	for (unsigned i = 0; i < rest->set->count; i++) {
		const struct pmc_event_def *def = &rest->set->events[i].def;

		if (def->flags & PMC_EVENT_ACCOUNTED && def->type == SOFTWARE &&
		    (pmc_event_account(SOFTWARE, def->config) == PMC_ACCOUNT_CLOCK ? clock : usage))
			rest->counts[i] = (struct pmc_count){
				.raw = pmc_event_accounted(SOFTWARE, def->config, work),
				.state = PMC_COUNTED,
			};
	}
}

static void subtract_accounted(struct pmc_p_remainder *execs, const struct pmc_p_remainder *rest)
{
	for (unsigned i = 0; rest->set && i < execs->set->count; i++) {
		const int at = find_event(rest->set, execs->set, i);

		if (at >= 0 && rest->set->events[at].def.flags & PMC_EVENT_ACCOUNTED &&
		    rest->counts[at].state == PMC_COUNTED)
			execs->counts[i].raw =
				pmc_sub_sat(execs->counts[i].raw, rest->counts[at].raw);
	}
}

static void close_accounted(struct pmc_profile *profile, struct pmc_p_process *p)
{
	struct pmc_usage usage = { 0 };
	const bool has = pmc_process_usage_rest(p, &usage);
	const struct pmc_accounted work = {
		.cpu_ns = pmc_sub_sat(p->fixed.cpu_ns, p->attributed_cpu_ns),
		.minor_faults = usage.minor_faults,
		.major_faults = usage.major_faults,
		.switches = usage.voluntary_switches + usage.involuntary_switches,
	};
	uint64_t newest_ns;
	const bool known = p->known && !pmc_process_never_on(&p->fixed) &&
			   !pmc_process_end_unseen(p, &newest_ns);

	add_accounted(profile, p, &p->unattributed, &work, known, has);
	/* An exec group has counted them, too. */
	if (p->root && p->root != p && p->root->descendants.set &&
	    p->fixed.flags & PMC_PROCESS_COVERED)
		subtract_accounted(&p->root->descendants, &p->unattributed);
}

/* The next process in the order of starts decides; of one job not all are there. */
static bool is_alone(const struct pmc_profile *profile, uint64_t at)
{
	const struct pmc_p_process *p = profile->processes[at];

	if (profile->tables->options.only_job)
		return false;
	for (uint64_t i = at + 1; i < profile->n_processes; i++) {
		const struct pmc_p_process *next = profile->processes[i];

		if (strcmp(next->node, p->node) != 0)
			return true;
		if (next->origin != p->origin)
			return next->fixed.start_ns >= p->fixed.end_ns;
	}
	return true;
}

void profile_close_totals(struct pmc_profile *profile)
{
	for (uint64_t i = 0; i < profile->n_processes; i++)
		profile->processes[i]->alone = is_alone(profile, i);
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *p = profile->processes[i];

		/* A process that was killed may have newer rows than its own frame. */
		if (p->root && p->root != p && !p->origin->not_waited_for)
			p->root->seen_cpu_ns += pmc_sub_sat(p->attributed_cpu_ns, p->fixed.cpu_ns);
		subtract_rest(p);
		close_accounted(profile, p);
	}
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *p = profile->processes[i];
		const bool both = p->unattributed.set && p->descendants.set;

		if (both && p->open->with_forks)
			subtract_execs(&p->unattributed, &p->descendants);
		close_unseen(p);
		add_accounted(profile, p, &p->descendants,
			      &(const struct pmc_accounted){ .cpu_ns = p->descendants.cpu_ns },
			      p->descendants.has_cpu, false);
	}
}

bool pmc_process_lost_agent(const struct pmc_p_process *process)
{
	for (unsigned i = 0; i < process->n_notes; i++)
		if (process->notes[i].fixed.code == PMC_NOTE_PRELOAD_LOST ||
		    process->notes[i].fixed.code == PMC_NOTE_EXEC_SECURE)
			return true;
	return false;
}

static void extend(uint64_t *to_ns, uint64_t *sum_ns, uint64_t from_ns, uint64_t end_ns)
{
	*sum_ns += pmc_sub_sat(end_ns, from_ns > *to_ns ? from_ns : *to_ns);
	*to_ns = end_ns > *to_ns ? end_ns : *to_ns;
}

uint64_t pmc_wall_add(struct pmc_wall *wall, const struct pmc_p_process *process)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t end_ns;

	pmc_process_end_unseen(process, &end_ns);
	extend(&wall->to_ns, &wall->sum_ns, fixed->start_ns + fixed->off_ns, end_ns);
	if (!fixed->off_ns)
		extend(&wall->whole_to_ns, &wall->whole_ns, fixed->start_ns, end_ns);
	return wall->sum_ns > wall->whole_ns ? wall->sum_ns : wall->whole_ns;
}

bool pmc_process_end_unseen(const struct pmc_p_process *process, uint64_t *newest_ns)
{
	*newest_ns = process->fixed.end_ns ? process->fixed.end_ns : process->fixed.time_ns;
	if (process->known && process->fixed.how_ended != PMC_RUNNING)
		return false;
	for (uint64_t i = 0; i < process->n_threads; i++)
		if (process->threads[i]->time_ns > *newest_ns)
			*newest_ns = process->threads[i]->time_ns;
	return *newest_ns > process->fixed.time_ns;
}

/* A program without an agent, of which wait4(2) told pmctl run: faults and switches are also those
 * of children that it waited for, unless there were none. */
static bool had_no_children(const struct pmc_p_process *process)
{
	const struct pmc_process_fixed *fixed = &process->fixed;

	return fixed->flags & PMC_PROCESS_FIRST && fixed->max_rss_bytes &&
	       !fixed->children_cpu_ns && process->alone;
}

/* Those of a killed process may be older than its rows. */
static bool has_usage(const struct pmc_p_process *process)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t newest_ns;

	return process->known && (process->n_threads || had_no_children(process)) &&
	       !pmc_process_never_on(fixed) &&
	       !(fixed->flags & (PMC_PROCESS_NO_SWITCHES | PMC_PROCESS_NO_FAULTS)) &&
	       !pmc_process_end_unseen(process, &newest_ns);
}

bool pmc_process_usage_rest(const struct pmc_p_process *process, struct pmc_usage *rest)
{
	const struct pmc_usage *rows = &process->usage;

	*rest = PMC_USAGE_OF(&process->fixed);
	return has_usage(process) &&
	       !__builtin_sub_overflow(rest->minor_faults, rows->minor_faults,
				       &rest->minor_faults) &&
	       !__builtin_sub_overflow(rest->major_faults, rows->major_faults,
				       &rest->major_faults) &&
	       !__builtin_sub_overflow(rest->voluntary_switches, rows->voluntary_switches,
				       &rest->voluntary_switches) &&
	       !__builtin_sub_overflow(rest->involuntary_switches, rows->involuntary_switches,
				       &rest->involuntary_switches);
}
