/* SPDX-License-Identifier: MIT */
/*
 * ration.c - stacks of waits where threads switch often.
 *
 * The stack of a switch costs the program 5 to 7 us, three times the switch itself. So the event
 * that records each of them is switched off while there are more than SWITCHES_MOST in a second on
 * a CPU; another one records each SPARSE-th. Which of the waits are long is not known before
 * their end: stacks of threads that have been blocked for LONG_NS are read in /proc. Each other
 * wait without a stack is put down to that of the last wait of about its length, of the thread or
 * else of its process.
 *
 * Numbers and times of waits, in threads, are those of PERF_RECORD_SWITCH, and so exact.
 *
 * A thread's clock, as an event that samples, starts and stops a timer of the CPU at each switch: 8
 * us in a virtual machine. And a thread that ends after a few switches has no SPARSE-th one. So
 * where that is permitted, events of CPUs are added meanwhile: clocks instead of those of threads,
 * and each SPARSE-th switch on the CPU. Records of threads that are not of the target are left out.
 * They cost 0.7 % of the time of each CPU, and would be too many on large machines.
 */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/profile/private.h"
#include "tools/rings/rings.h"

#include <errno.h>
#include <signal.h>

#define SPARSE	      61 /* a prime, as threads that wake each other wait in turn */
#define SWITCHES_MOST 5000u
#define STEP_NS	      UINT64_C(5000000)
#define OLD_NS	      UINT64_C(1000000000)
#define LONG_NS	      UINT64_C(10000000)
#define SLICE_MS      5
#define CPUS_MOST     32u
#define LOOKS_MOST    16u /* in a step; each takes some 30 us */

/* By the length without the time for the stack, which others do not have. Those of less than 2 us
 * have the first class, of more than 8 s the last. */
static unsigned class_of(const struct prof_thread *thread, uint64_t record_ns)
{
	const uint64_t ns = pmc_sub_sat(record_ns, thread->out_ns);
	const int class = 63 - __builtin_clzll(ns | 1) - 10;

	return class < 0 ? 0 : class < PROF_LENGTHS ? (unsigned)class : PROF_LENGTHS - 1;
}

void prof_options_always(struct pmc_open_options *options)
{
	options->context_switch = true;
	unwind_options_maps(options);
}

/* NULL: none since then. */
static const struct prof_similar *similar_of(const struct prof_similar *list, unsigned class,
					     uint64_t since_ns)
{
	const unsigned order[] = { class, class + 1, class - 1 };

	for (unsigned i = 0; list && i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i] < PROF_LENGTHS && list[order[i]].stack &&
		    list[order[i]].ns >= since_ns)
			return &list[order[i]];
	return NULL;
}

/* Threads that wait seldom have no stack of their own, or an old one: those of the process. */
static struct prof_similar *of_process(struct prof *prof, const struct prof_thread *thread)
{
	struct pmc_arena *arena = &prof->arena;

	return pmc_map_at(&prof->ration.similar, arena, &thread->pid, sizeof(thread->pid),
			  PROF_LENGTHS * sizeof(struct prof_similar));
}

void prof_ration_place(struct prof *prof, struct prof_thread *thread, uint64_t record_ns)
{
	struct pmc_arena *arena = &prof->arena;
	const unsigned class = class_of(thread, record_ns);
	const struct prof_similar *similar;

	/* It had ended before the thread was looked at. */
	if (thread->looked_ns > record_ns)
		thread->stack = NULL;
	if (!prof->ration.used)
		return;
	if (thread->stack) {
		if (!thread->similar)
			thread->similar =
				pmc_arena_alloc(arena, PROF_LENGTHS * sizeof(*thread->similar));
		thread->similar[class] = of_process(prof, thread)[class] =
			(struct prof_similar){ thread->stack, record_ns };
		return;
	}
	similar = similar_of(thread->similar, class, pmc_sub_sat(record_ns, OLD_NS));
	if (!similar)
		similar = similar_of(of_process(prof, thread), class, 0);
	thread->stack = similar ? similar->stack : NULL;
	thread->estimated += similar != NULL;
}

/* ---- long waits --------------------------------------------------------------------------- */

void prof_ration_wait(struct prof *prof, struct prof_thread *thread)
{
	thread->looked_ns = 0;
	if (!prof->ration.used || thread->stack || !thread->waiting || thread->is_unplaced)
		return;
	thread->is_unplaced = true;
	thread->unplaced = prof->ration.unplaced;
	prof->ration.unplaced = thread;
}

/* Of a wait that ended meanwhile, whose record comes later, prof_ration_place() drops it. */
static void look(struct prof *prof, uint64_t now_ns)
{
	struct prof_thread *thread, **at = &prof->ration.unplaced;
	unsigned looks = 0;

	while ((thread = *at)) {
		const bool waits = thread->waiting && !thread->stack && !thread->looked_ns;

		if (waits && (now_ns < thread->since_ns + LONG_NS || looks == LOOKS_MOST)) {
			at = &thread->unplaced;
			continue;
		}
		*at = thread->unplaced;
		thread->is_unplaced = false;
		if (!waits)
			continue;
		looks++;
		thread->stack = unwind_blocked(&prof->unwind, thread->pid, thread->tid);
		thread->looked_ns = pmc_now_ns();
	}
}

/* ---- which stacks are recorded ------------------------------------------------------------ */

int prof_ration_open(struct prof *prof, struct rings *rings, struct ring *ring, pid_t tid,
		     struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event switches;
	int error = pmc_counter_event_parse(&switches, "context-switches", NULL);

	for (uint64_t period = SPARSE; !error && period; period = period > 1) {
		rings_options(rings, ring, tid, &options);
		options.user_if_denied = false;
		options.sample_period = period;
		unwind_options_stack(&prof->unwind, &options);
		if (period > 1)
			prof_options_always(&options);
		error = rings_add(rings, ring, &switches, &options, why);
	}
	return error;
}

/* Events of CPUs have this option, those of threads do not. */
static void of_cpu(struct rings *rings, struct ring *ring, struct prof *prof,
		   struct pmc_open_options *options)
{
	rings_options(rings, ring, 0, options);
	options->exclude_idle = true;
	options->user_if_denied = false;
	unwind_options_stack(&prof->unwind, options);
}

static int open_of_cpu(struct prof *prof, struct rings *rings, struct ring *ring,
		       struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	int error = pmc_counter_event_parse(&event, "context-switches", why);

	of_cpu(rings, ring, prof, &options);
	options.sample_period = SPARSE;
	if (!error)
		error = rings_add(rings, ring, &event, &options, why);
	if (error || !prof->ration.clock_hz)
		return error;
	of_cpu(rings, ring, prof, &options);
	options.sample_period = 0;
	options.sample_freq = prof->ration.clock_hz;
	options.sample_type |= PERF_SAMPLE_PERIOD;
	error = pmc_counter_event_parse(&event, "cpu-clock", why);
	return error ? error : rings_add(rings, ring, &event, &options, why);
}

/* False: on a CPU that is not permitted. */
static bool open_of_cpus(struct prof *prof, struct rings *rings)
{
	struct pmc_failure why;
	int error = 0;

	for (unsigned r = 0; r < rings->n && !error; r++)
		if (rings->list[r].sampler)
			error = open_of_cpu(prof, rings, &rings->list[r], &why);
	return !error;
}

/* Of a thread that ends meanwhile it fails. */
static void switch_counter(const struct prof_ration *ration, struct pmc_counter *counter)
{
	const struct perf_event_attr *attr = pmc_counter_attr(counter);
	const bool stacks = attr->type == PERF_TYPE_SOFTWARE &&
			    attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES && !attr->freq &&
			    attr->sample_period == 1,
		   clock = attr->freq && ration->clock_hz && ration->beside;
	const bool wanted = attr->exclude_idle ? ration->by_cpu :
			    stacks	       ? !ration->off :
						 !ration->by_cpu;

	if (stacks || clock || attr->exclude_idle)
		(void)(wanted ? pmc_counter_enable(counter) : pmc_counter_disable(counter));
}

static void switch_all(struct prof *prof, struct rings *rings)
{
	struct prof_ration *ration = &prof->ration;

	ration->off = !ration->off;
	rings->slice_ms = ration->off ? SLICE_MS : 0;
	if (!prof->machine && !ration->used && rings->n <= CPUS_MOST)
		ration->beside = open_of_cpus(prof, rings);
	ration->used = true;
	ration->by_cpu = ration->off && ration->beside;
	for (unsigned r = 0; r < rings->n; r++)
		for (size_t i = 0; i < rings->list[r].n_counters; i++)
			switch_counter(ration, rings->list[r].counters[i]);
}

/* Events of CPUs do not end with the threads. */
static bool any_lives(const struct prof *prof)
{
	for (const struct prof_thread *t = prof->last; t; t = t->next)
		if (!t->row.end_ns && (kill((pid_t)t->tid, 0) == 0 || errno == EPERM))
			return true;
	return false;
}

bool prof_ration_check(struct prof *prof, struct rings *rings)
{
	struct prof_ration *ration = &prof->ration;
	const uint64_t now_ns = pmc_now_ns(), step_ns = now_ns - ration->checked_ns;
	const uint64_t rate = (uint64_t)SWITCHES_MOST * rings->n;
	uint64_t most, n;

	/* A later rings_enable() would switch all events on. */
	if (step_ns < STEP_NS || now_ns < rings->enabled_ns + 4 * STEP_NS)
		return true;
	if (!ration->checked_ns)
		ration->left = rate;
	most = ration->checked_ns ? step_ns * rate / 1000000000 : rate;
	n = prof->n_switches - ration->n_switches;
	ration->checked_ns = now_ns;
	ration->n_switches = prof->n_switches;
	ration->left = pmc_sub_sat(ration->left + most, n);
	ration->left = ration->left < rate ? ration->left : rate;
	if (ration->off ? ration->left == rate : !ration->left)
		switch_all(prof, rings);
	look(prof, now_ns);
	return !ration->beside || any_lives(prof);
}
