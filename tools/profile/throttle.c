/* SPDX-License-Identifier: MIT */
/*
 * throttle.c - fewer stacks of waits where threads switch often.
 *
 * Recording the stack of a switch takes the kernel 5 to 7 us, three times the switch itself. Each
 * thread has two events of switches: one records every stack and is switched off while threads
 * switch more than SWITCHES_MOST times in a second and CPU, the other records each SPARSE-th stack
 * and stays on. A wait without a recorded stack gets one in one of two ways:
 * - after LONG_NS its stack is read in /proc while it lasts;
 * - a shorter wait gets the stack of the last wait of about the same length, of the thread or else
 *   of its process.
 * Numbers and lengths of waits are exact: they come from PERF_RECORD_SWITCH.
 *
 * Where the user may observe whole CPUs, events of these are added:
 * - Clocks, which replace those of threads while threads switch often, and while many end. A
 *   thread's clock as a sampling event starts and stops a timer at each switch, 8 us in a virtual
 *   machine; and its period starts with the thread, so a thread that ends before has no sample.
 * - Each SPARSE-th switch of the CPU, while the first event is off: a thread that ends after a few
 *   switches never reaches its own SPARSE-th one.
 * Their records of other programs are left out. They take 0.7 % of each CPU; large machines would
 * write too many.
 */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/profile/private.h"
#include "tools/rings/rings.h"

#include <errno.h>

#define SPARSE	      61 /* a prime: a program may wait in its places in turn */
#define SWITCHES_MOST 5000u
#define PERIODS	      100u /* of a clock for each end of a thread, of which half a one is lost */
#define STEP_NS	      UINT64_C(5000000)
#define SECOND_NS     UINT64_C(1000000000)
#define OLD_NS	      SECOND_NS
#define LONG_NS	      UINT64_C(10000000)
#define SLICE_MS      5
#define CPUS_MOST     32u
#define CPU_CLOCK     PERF_SAMPLE_STREAM_ID /* marks samples by clocks of CPUs */
#define LOOKS_MOST    16u /* threads read in /proc in a step; each takes some 30 us */

/* The class of a wait by its length, without the time that recording its stack took. The first
 * class is below 2 us, the last above 8 s. */
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

/* The last wait of that class or one beside it; NULL: none since `since_ns`. */
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

/* The last waits of the thread's process, by class. */
static struct prof_similar *of_process(struct prof *prof, const struct prof_thread *thread)
{
	struct pmc_arena *arena = &prof->arena;

	return pmc_map_at(&prof->throttle.similar, arena, &thread->pid, sizeof(thread->pid),
			  PROF_LENGTHS * sizeof(struct prof_similar));
}

void prof_wait_ends(struct prof *prof, struct prof_thread *thread, uint64_t record_ns)
{
	struct pmc_arena *arena = &prof->arena;
	const unsigned class = class_of(thread, record_ns);
	const struct prof_similar *similar;

	/* The stack was read after this wait had ended. */
	if (thread->looked_ns > record_ns)
		thread->stack = NULL;
	if (!prof->throttle.used)
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

void prof_wait_begins(struct prof *prof, struct prof_thread *thread)
{
	thread->looked_ns = 0;
	if (!prof->throttle.used || thread->stack || !thread->waiting || thread->is_unplaced)
		return;
	thread->is_unplaced = true;
	thread->unplaced = prof->throttle.unplaced;
	prof->throttle.unplaced = thread;
}

/* Reads the stacks of long waits. The record of a wait's end may not have been taken yet:
 * prof_wait_ends() then drops the stack. */
static void look(struct prof *prof, uint64_t now_ns)
{
	struct prof_thread *thread, **at = &prof->throttle.unplaced;
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

int prof_throttle_open(struct prof *prof, struct rings *rings, struct ring *ring, pid_t tid,
		       struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event switches;
	int error = pmc_counter_event_parse(&switches, "context-switches", NULL);

	prof->throttle.stacks = true;
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

/* Options of an event of a CPU. switch_counter() knows it by exclude_idle. */
static void options_of_cpu(struct rings *rings, struct ring *ring, struct prof *prof,
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

	options_of_cpu(rings, ring, prof, &options);
	options.sample_period = SPARSE;
	if (!error && prof->throttle.stacks)
		error = rings_add(rings, ring, &event, &options, why);
	if (error || !prof->throttle.clock)
		return error;
	options_of_cpu(rings, ring, prof, &options);
	options.sample_period = 0;
	options.sample_freq = prof->throttle.clock_hz;
	options.sample_type |= PERF_SAMPLE_PERIOD | CPU_CLOCK;
	return rings_add(rings, ring, prof->throttle.clock, &options, why);
}

/* False: that is not permitted. */
static bool open_of_cpus(struct prof *prof, struct rings *rings)
{
	struct pmc_failure why;
	int error = 0;

	/* -ENODEV: the CPU is offline. */
	for (unsigned r = 0; r < rings->n && (!error || error == -ENODEV); r++)
		if (rings->list[r].sampler)
			error = open_of_cpu(prof, rings, &rings->list[r], &why);
	return !error || error == -ENODEV;
}

/* Errors are ignored: the thread may have ended. */
static void switch_counter(const struct prof_throttle *throttle, struct pmc_counter *counter)
{
	const struct perf_event_attr *attr = pmc_counter_attr(counter);
	const bool of_cpu = attr->exclude_idle, clock = attr->freq && throttle->clock,
		   stacks = attr->type == PERF_TYPE_SOFTWARE && !attr->freq &&
			    attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES &&
			    (of_cpu || attr->sample_period == 1);

	if ((!clock && !stacks) || (of_cpu && !throttle->beside))
		return;
	if (of_cpu == (clock ? throttle->by_cpu : throttle->off))
		(void)pmc_counter_enable(counter);
	else
		(void)pmc_counter_disable(counter);
}

static void switch_all(struct prof *prof, struct rings *rings, bool off, bool by_cpu)
{
	struct prof_throttle *throttle = &prof->throttle;

	if (!prof->machine && !throttle->opened && rings->n <= CPUS_MOST)
		throttle->beside = open_of_cpus(prof, rings);
	throttle->opened = true;
	throttle->used |= off;
	throttle->off = off;
	by_cpu &= throttle->beside;
	if (by_cpu != throttle->by_cpu)
		throttle->switched_ns = pmc_now_ns();
	throttle->by_cpu = by_cpu;
	for (unsigned r = 0; r < rings->n; r++)
		for (size_t i = 0; i < rings->list[r].n_counters; i++)
			switch_counter(throttle, rings->list[r].counters[i]);
}

/* A process that forks while its clock is switched off may have children whose clock is on. */
bool prof_throttle_keeps(const struct prof_throttle *throttle, const struct pmc_record *sample)
{
	const bool by_cpu = throttle->by_cpu == (sample->time >= throttle->switched_ns);

	return !!(sample->present & CPU_CLOCK) == by_cpu;
}

/* More than `most` in a second, until there are fewer for a second. */
static bool is_often(struct prof_rate *rate, uint64_t n, uint64_t most, uint64_t step_ns)
{
	const uint64_t ns = (n - rate->n) * (SECOND_NS / most);

	rate->n = n;
	rate->left_ns = pmc_sub_sat(rate->left_ns + step_ns, ns);
	rate->left_ns = rate->left_ns < SECOND_NS ? rate->left_ns : SECOND_NS;
	rate->often = rate->often ? rate->left_ns < SECOND_NS : !rate->left_ns;
	return rate->often;
}

void prof_throttle_check(struct prof *prof, struct rings *rings)
{
	struct prof_throttle *throttle = &prof->throttle;
	const uint64_t now_ns = pmc_now_ns(), step_ns = now_ns - throttle->checked_ns;
	bool often, off, by_cpu;

	/* rings_enable() may be called again at first, and switches all events on. */
	if (step_ns < STEP_NS || now_ns < rings->enabled_ns + 4 * STEP_NS)
		return;
	throttle->checked_ns = now_ns;
	often = is_often(&throttle->switches, prof->n_switches, SWITCHES_MOST * rings->n, step_ns);
	off = often && throttle->stacks;
	by_cpu = is_often(&throttle->ends, prof->n_ends, throttle->clock_hz / PERIODS + 1, step_ns);
	by_cpu = (by_cpu || often) && throttle->clock && (throttle->beside || !throttle->opened);
	if (off != throttle->off || by_cpu != throttle->by_cpu)
		switch_all(prof, rings, off, by_cpu);
	/* A command may have started many threads and ended before 100 ms are over. */
	rings->slice_ms = off || now_ns < prof->start_ns + SECOND_NS ? SLICE_MS : 0;
	look(prof, now_ns);
}
