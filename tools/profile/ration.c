/* SPDX-License-Identifier: MIT */
/*
 * ration.c - stacks of waits where threads switch often.
 *
 * The stack of a switch costs the program 5 to 7 us, three times the switch itself. So the event
 * that records each of them is switched off while there are more than SWITCHES_MOST in a second on
 * a CPU; another one records each SPARSE-th. Which of the waits are long is not known before
 * their end: stacks of threads that have been blocked for LONG_NS are read in /proc. Each other
 * wait without a stack is put down to that of the thread's last wait of about its length.
 *
 * Numbers and times of waits, in threads, are those of PERF_RECORD_SWITCH, and so exact.
 *
 * A thread's clock, as an event that samples, starts and stops a timer of the CPU at each switch: 8
 * us in a virtual machine. So clocks of the CPUs take its place meanwhile, and samples of threads
 * that are not of the target are left out. That costs 0.7 % of the time of each CPU, but would be
 * too many records of other programs on large machines.
 */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/profile/private.h"
#include "tools/rings/rings.h"

#include <errno.h>

#define SPARSE	      61 /* a prime, as threads that wake each other wait in turn */
#define SWITCHES_MOST 2000u
#define STEP_NS	      UINT64_C(5000000)
#define CALM_NS	      UINT64_C(1000000000)
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

void prof_ration_place(struct prof *prof, struct prof_thread *thread, uint64_t record_ns)
{
	struct pmc_arena *arena = &prof->arena;
	const unsigned class = class_of(thread, record_ns);
	const struct unwind_stack **similar;

	/* It had ended before the thread was looked at. */
	if (thread->looked_ns > record_ns)
		thread->stack = NULL;
	if (!prof->ration.used)
		return;
	if (!thread->similar)
		thread->similar = pmc_arena_alloc(arena, PROF_LENGTHS * sizeof(*thread->similar));
	similar = thread->similar;
	if (thread->stack) {
		similar[class] = thread->stack;
		return;
	}
	thread->stack = similar[class]				       ? similar[class] :
			class + 1 < PROF_LENGTHS && similar[class + 1] ? similar[class + 1] :
			class					       ? similar[class - 1] :
									 NULL;
	thread->estimated += thread->stack != NULL;
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
		thread->looked_ns = now_ns;
		thread->stack = unwind_blocked(&prof->unwind, thread->pid, thread->tid);
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

/* Opens clocks of the CPUs. False: on one of them that is not permitted. */
static bool open_clocks(struct prof *prof, struct rings *rings)
{
	struct pmc_open_options options;
	struct pmc_counter_event clock;
	struct pmc_failure why;
	int error = pmc_counter_event_parse(&clock, "cpu-clock", NULL);

	for (unsigned r = 0; r < rings->n && !error; r++) {
		struct ring *ring = &rings->list[r];

		if (!ring->sampler)
			continue;
		rings_options(rings, ring, 0, &options);
		options.sample_period = 0;
		options.sample_freq = prof->ration.clock_hz;
		options.sample_type |= PERF_SAMPLE_PERIOD;
		options.exclude_idle = true;
		options.user_if_denied = false;
		unwind_options_stack(&prof->unwind, &options);
		error = rings_add(rings, ring, &clock, &options, &why);
		/* Offline. */
		error = error == -ENODEV ? 0 : error;
	}
	return !error;
}

/* Of a thread that ends meanwhile it fails. */
static void switch_counter(const struct prof_ration *ration, struct pmc_counter *counter)
{
	const struct perf_event_attr *attr = pmc_counter_attr(counter);
	const bool stacks = attr->type == PERF_TYPE_SOFTWARE &&
			    attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES && !attr->freq &&
			    attr->sample_period == 1;
	const bool wanted = stacks ? !ration->off : attr->exclude_idle == ration->by_cpu;

	if (stacks || (attr->freq && ration->has_clocks))
		(void)(wanted ? pmc_counter_enable(counter) : pmc_counter_disable(counter));
}

static void switch_all(struct prof *prof, struct rings *rings)
{
	struct prof_ration *ration = &prof->ration;

	ration->off = !ration->off;
	rings->slice_ms = ration->off ? SLICE_MS : 0;
	if (ration->clock_hz && !ration->used && rings->n <= CPUS_MOST)
		ration->has_clocks = open_clocks(prof, rings);
	ration->used = true;
	ration->by_cpu = ration->off && ration->has_clocks;
	for (unsigned r = 0; r < rings->n; r++)
		for (size_t i = 0; i < rings->list[r].n_counters; i++)
			switch_counter(ration, rings->list[r].counters[i]);
}

void prof_ration_check(struct prof *prof, struct rings *rings)
{
	struct prof_ration *ration = &prof->ration;
	const uint64_t now_ns = pmc_now_ns(), step_ns = now_ns - ration->checked_ns;
	const uint64_t rate = (uint64_t)SWITCHES_MOST * rings->n;
	uint64_t most, n;

	/* A later rings_enable() would switch all events on. */
	if (step_ns < STEP_NS || now_ns < rings->enabled_ns + 4 * STEP_NS)
		return;
	if (!ration->checked_ns)
		ration->left = rate;
	most = ration->checked_ns ? step_ns * rate / 1000000000 : rate;
	n = prof->n_switches - ration->n_switches;
	ration->checked_ns = now_ns;
	ration->n_switches = prof->n_switches;
	ration->left = pmc_sub_sat(ration->left + most, n);
	ration->left = ration->left < rate ? ration->left : rate;
	if (n > most)
		ration->busy_ns = now_ns;
	if (ration->off ? now_ns - ration->busy_ns > CALM_NS : !ration->left)
		switch_all(prof, rings);
	look(prof, now_ns);
}
