/* SPDX-License-Identifier: MIT */
/*
 * sample_switches.c - threads that switch often are sampled by a timer instead of a clock event.
 *
 * At each context switch the kernel starts or stops a timer of the CPU for a clock event, which in
 * virtual machines takes some 8 us, eight times as long as the switch. So a thread with many
 * switches for its CPU time closes the event and uses the timer of agent/process/tick.c, which
 * costs nothing at a switch. That one expires in clock interrupts (some 250 a second of CPU time):
 * such a sample stands for the CPU time since the last one, and none is taken in system calls. When
 * the thread switches little it has its event again.
 *
 * Called in the handler of the agent's signal, with all signals blocked.
 */
#include "agent/sample/private.h"

#include "agent/base/poison.h"

/* Mean CPU time between two context switches. Below OFTEN_NS, where the event would take some 3 %,
 * a thread is sampled by its timer; above SELDOM_NS by its event again. */
#define OFTEN_NS  250000u
#define SELDOM_NS 1000000u
/* Fewer switches are too few for a mean. */
#define SWITCHES_LEAST 16u
/* The CPU time over which switches are counted, with an event and with a timer; and the least wall
 * time between two checks. */
#define EVENT_NS 50000000u
#define TIMER_NS 250000000u
#define LOOK_NS	 5000000u

bool agent_sample_timed(const struct slot *slot)
{
	const struct sample_thread *thread = sample_of(slot);

	return thread && atomic_load_explicit(&thread->timed, memory_order_relaxed);
}

/* Context switches since they are counted, and in *ns the CPU time; then counts anew if that is
 * `window` or more. */
static uint64_t count_switches(struct sample_thread *thread, uint64_t window, uint64_t *ns)
{
	const uint64_t now = agent_overhead_clock();
	struct pmc_usage usage;
	uint64_t all, switches;

	pmc_usage_thread(&usage);
	all = usage.voluntary_switches + usage.involuntary_switches;
	switches = all - thread->from_switches;
	*ns = now - thread->from_ns;
	if (*ns >= window) {
		thread->from_ns = now;
		thread->from_switches = all;
	}
	return switches;
}

bool sample_to_timer(struct slot *slot, struct sample_thread *thread)
{
	const uint64_t now = pmc_now_ns();
	uint64_t switches, ns;

	if (sample_event.by_reading || now - thread->looked_ns < LOOK_NS)
		return false;
	thread->looked_ns = now;
	switches = count_switches(thread, EVENT_NS, &ns);
	/* The code that was interrupted may have the lock that descriptors are closed under. */
	if (switches < SWITCHES_LEAST || switches * OFTEN_NS < ns || agent_fds_busy())
		return false;
	atomic_store(&thread->timed, 1);
	if (!agent_timer_switch(slot)) {
		atomic_store(&thread->timed, 0);
		return false;
	}
	atomic_store(&thread->flags, PMC_SAMPLES_TIMED);
	sample_close(thread);
	thread->last = agent_overhead_clock();
	return true;
}

/* The CPU time since the last tick that was used. */
static uint64_t take_time(struct sample_thread *thread, uint64_t now)
{
	const uint64_t ns = now - thread->last;

	thread->last = now;
	if (!atomic_load(&pmc_agent_control.counting))
		return 0;
	thread->enabled_ns += ns;
	thread->running_ns += ns;
	thread->value += ns;
	return ns;
}

void sample_timed_end(struct sample_thread *thread)
{
	if (!atomic_exchange(&thread->timed, 0))
		return;
	take_time(thread, agent_overhead_clock());
}

static void to_event(struct slot *slot, struct sample_thread *thread)
{
	uint64_t ns, switches = count_switches(thread, TIMER_NS, &ns);

	if (ns < TIMER_NS || switches * SELDOM_NS > ns || agent_fds_busy() ||
	    !sample_open(slot, thread))
		return;
	atomic_store(&thread->timed, 0);
	agent_timer_switch(slot);
	agent_sample_enable(slot);
}

void agent_sample_tick(const void *context)
{
	struct slot *slot = agent_self;
	struct sample_thread *thread;
	uint64_t now, ns;

	if (!slot || !agent_sample_timed(slot))
		return;
	thread = sample_of(slot);
	now = agent_overhead_clock();
	/* A period that is longer than that of the clock interrupt. */
	if (now - thread->last < sample_event.period - sample_event.period / 4)
		return;
	ns = take_time(thread, now);
	if (ns)
		sample_take(thread, -1, ns, context);
	to_event(slot, thread);
}
