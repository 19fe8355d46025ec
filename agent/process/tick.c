/* SPDX-License-Identifier: MIT */
/*
 * tick.c - takes a snapshot every PMC_INTERVAL and starts counting after PMC_DELAY.
 *
 * No thread and no child process: each thread has a timer on its CPU time, which sends the agent's
 * signal to that thread, and whichever thread runs compares the wall clock with the time of the
 * next snapshot, at each tick, at its start and at its end. A process that uses no CPU time takes
 * no snapshots, and no blocked system call is interrupted. Timers expire in the kernel's clock
 * interrupt, so an interval has at least that length.
 *
 * Threads that switch too often for a sampling event (agent/sample/sample_switches.c) are sampled
 * by the same timers.
 *
 * The timers count against RLIMIT_SIGPENDING, which all processes of the user share: the agent
 * takes a part of it. Children by fork have no timers, and exec deletes them.
 *
 * Contract: all but agent_tick_start is async-signal-safe and needs less than 1 KiB of stack.
 */
#include "agent/process/process.h"
#include "lib/base/file.h"
#include "lib/base/proc.h"

#include <sched.h>

#include "agent/base/poison.h"

/* CPU time of a thread between two ticks. Timers expire in the clock interrupt, if it finds the
 * thread running, so those of busy threads tick once a jiffy. A longer period would tick less often
 * in a thread that runs little: the interrupt rarely finds it running. */
#define PERIOD_MOST_NS 250000u
/* CPU time of a tick without a snapshot, two thirds of it the kernel's delivery of the signal. */
#define TICK_NS 2000u
/* Between two snapshots at least this many times the CPU time of the first. */
#define SNAPSHOT_REST 4u
/* Timers of one process: a part of the user's remaining RLIMIT_SIGPENDING. */
#define ROOM_SHARE 4u
/* Attempts to get the lock of snapshots before an exec. */
#define PATIENCE 1000u

static struct {
	_Atomic bool on;
	_Atomic int signo; /* of the timers; 0: there are none */
	_Atomic uint64_t period_ns;
	int room;		   /* how many timers there may be */
	_Atomic int left;	   /* how many more */
	uint64_t interval_ns;	   /* 0: no snapshots */
	_Atomic uint64_t next_ns;  /* when the next snapshot is due */
	_Atomic uint64_t begin_ns; /* when counting starts; 0: it has started */
	_Atomic bool busy;	   /* a snapshot is being taken, or must not be */
} tick;

/* ---- a timer for each thread --------------------------------------------------------------- */

/* musl's name for the member. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* In place of the one that it has, which another thread may have started. 0: none. */
static void set_timer(struct slot *slot, int timer)
{
	timer = atomic_exchange(&slot->timer, timer);
	if (!timer)
		return;
	pmc_sys1(SYS_timer_delete, timer - 1);
	atomic_fetch_add(&tick.left, 1);
}

static void stop_timer(struct slot *slot)
{
	set_timer(slot, 0);
}

/* False: the thread has changed its number meanwhile. */
static bool start_timer(struct slot *slot)
{
	const uint64_t period =
		agent_sample_timed(slot) ? PERIOD_MOST_NS : atomic_load(&tick.period_ns);
	/* The clock of a thread, see pmc_thread_cpu_ns: any thread may create its timer. */
	const clockid_t clock = (clockid_t)((~slot->tid << 3) | PMC_CLOCK_OF_THREAD);
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = agent_own_signal_of(slot),
				  .sigev_value.sival_ptr = &agent };
	const struct timespec ns = { .tv_nsec = (long)period };
	const struct itimerspec times = { ns, ns };
	bool ended;
	int id;

	if (!atomic_load(&tick.signo) || !event.sigev_signo || !period ||
	    (slot->flags & PMC_THREAD_ADOPTED))
		return true;
	event.sigev_notify_thread_id = (pid_t)slot->tid;
	if (atomic_fetch_sub(&tick.left, 1) <= 0 ||
	    pmc_sys3(SYS_timer_create, clock, &event, &id) != 0) {
		atomic_fetch_add(&tick.left, 1);
		if (!agent_sample_timed(slot))
			agent_note(NOTE_TICK);
		return true;
	}
	pmc_sys4(SYS_timer_settime, id, 0, &times, NULL);
	set_timer(slot, id + 1);
	/* Another thread created the timer while this thread ended or changed its number. */
	ended = (atomic_load(&slot->word) & ~0xffffu) != SLOT_LIVE;
	if (!ended && agent_own_signal_of(slot) == event.sigev_signo)
		return true;
	stop_timer(slot);
	return ended;
}

void agent_timer_start(struct slot *slot)
{
	while (!start_timer(slot))
		;
}

static void restart(struct slot *slot)
{
	stop_timer(slot);
	agent_timer_start(slot);
}

bool agent_timer_switch(struct slot *slot)
{
	restart(slot);
	return atomic_load(&slot->timer);
}

static void restart_timers(void)
{
	registry_each(&agent_registry, restart);
}

/* ---- PMC_DELAY: accounts and groups of all threads, and inherit groups --------------------- */

/* In the thread that starts counting. */
AGENT_ROOMY static char room_of_tasks[PMC_TASK_ROOM];

static void start_account(struct slot *slot)
{
	struct account *account = &agent_registry.accounts[registry_index(&agent_registry, slot)];
	struct account_words now;
	struct account_side side;
	struct pmc_usage usage;
	bool known;

	agent_account(slot, &side);
	if (!side.stopped)
		return;
	known = pmc_usage_of_task(slot->tid, room_of_tasks, sizeof(room_of_tasks), &usage);
	agent_thread_words(slot, false, known ? &usage : NULL, 0, &now);
	account_start(&side, &now);
	account_write(account, &side);
}

static void start_thread(struct slot *slot)
{
	start_account(slot);
	agent_thread_switch(slot, PERF_EVENT_IOC_ENABLE);
	agent_sample_enable(slot);
}

static void start_process_account(void)
{
	struct account_words now;
	struct account_side side;
	struct pmc_usage usage;

	agent_process_words(&now, &usage);
	account_read(&pmc_agent_control.account, 1, &side);
	account_start(&side, &now);
	account_write(&pmc_agent_control.account, &side);
}

static void start_counting(void)
{
	atomic_fetch_add(&pmc_agent_control.switched, 1);
	atomic_store(&pmc_agent_control.counting, 1);
	/* The process before its threads, so that its values are never below theirs. */
	start_process_account();
	agent_inherit_enable();
	registry_each(&agent_registry, start_thread);
}

/* ---- ticks --------------------------------------------------------------------------------- */

static void set_period(void)
{
	uint64_t least = atomic_load(&tick.begin_ns) ? agent.config.delay : 0;

	if (tick.interval_ns && (!least || tick.interval_ns < least))
		least = tick.interval_ns;
	atomic_store(&tick.period_ns, least < PERIOD_MOST_NS ? least : PERIOD_MOST_NS);
}

static void begin_counting(void)
{
	uint64_t at = atomic_load(&tick.begin_ns);

	if (!atomic_compare_exchange_strong(&tick.begin_ns, &at, 0))
		return;
	set_period();
	restart_timers();
	if (agent.config.start)
		start_counting();
}

/* Whether it took a snapshot. */
static bool snapshot_if_due(uint64_t now)
{
	uint64_t next = atomic_load(&tick.next_ns);
	bool due;

	if (!tick.interval_ns || now < next || atomic_exchange(&tick.busy, true))
		return false;
	next = atomic_load(&tick.next_ns);
	due = now >= next;
	if (due) {
		const uint64_t began = agent_overhead_clock();

		next += tick.interval_ns;
		/* Late by a whole interval or more: skip those. */
		atomic_store(&tick.next_ns, next > now ? next : now + tick.interval_ns);
		agent_snapshot();
		/* Of thousands of threads it may take longer than the interval. */
		next = pmc_now_ns() + SNAPSHOT_REST * (agent_overhead_clock() - began);
		if (next > atomic_load(&tick.next_ns))
			atomic_store(&tick.next_ns, next);
	}
	atomic_store(&tick.busy, false);
	return due;
}

static bool look(void)
{
	uint64_t now = pmc_now_ns(), begin = atomic_load(&tick.begin_ns);

	if (begin && now >= begin)
		begin_counting();
	return snapshot_if_due(now);
}

void agent_tick_thread(struct slot *slot, bool begins)
{
	if (!atomic_load_explicit(&tick.on, memory_order_relaxed))
		return;
	if (begins) {
		agent_own_signal_begin();
		agent_timer_start(slot);
	} else {
		stop_timer(slot);
	}
	look();
}

void agent_tick_signal(const void *context)
{
	/* The interrupted agent code may hold a lock: the next tick follows soon. */
	if (!agent_active() || agent_fds_busy())
		return;
	/* It may kill for what a snapshot needs. */
	if (agent_unseen_filter()) {
		if (agent_self && agent_sample_timed(agent_self))
			agent_note(NOTE_SAMPLE_STOPPED);
		return;
	}
	if (!look())
		agent_overhead_add(TICK_NS);
	agent_sample_tick(context);
}

/* How many timers this process may have: from the user's queued signals and the limit. */
static int room(void)
{
	struct rlimit limit;
	char text[4096];
	uint64_t used = 0;

	if (syscall(SYS_prlimit64, 0, RLIMIT_SIGPENDING, NULL, &limit) != 0 ||
	    limit.rlim_cur > INT32_MAX)
		return INT32_MAX;
	pmc_file_read_at(AT_FDCWD, "/proc/self/status", text, sizeof(text));
	pmc_proc_number(text, "SigQ", &used);
	return (int)(pmc_sub_sat(limit.rlim_cur, used) / ROOM_SHARE);
}

static void start_timers(int signo, bool ticks)
{
	struct timespec jiffy = { 0, 0 };
	uint64_t jiffy_ns;

	/* The resolution of the coarse clock is the period of the clock interrupt. */
	syscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &jiffy);
	jiffy_ns = (uint64_t)jiffy.tv_nsec;
	tick.interval_ns = agent.config.interval;
	if (tick.interval_ns && tick.interval_ns < jiffy_ns)
		tick.interval_ns = jiffy_ns;
	tick.next_ns = agent.start_ns + tick.interval_ns;
	tick.begin_ns = agent.config.delay ? agent.start_ns + agent.config.delay : 0;
	tick.room = agent_permitted(AGENT_TIMER) ? room() : 0;
	if (!tick.room)
		signo = 0;
	if (!signo && ticks)
		agent_note(NOTE_TICK);
	atomic_store(&tick.signo, signo);
	atomic_store(&tick.left, tick.room);
	set_period();
	atomic_store(&tick.on, true);
	restart_timers();
}

void agent_tick_start(void)
{
	const bool ticks = agent.config.interval || agent.config.delay;
	int signo;

	if (!agent_is_on() || !agent.measured || (!ticks && !agent_sample_wanted()))
		return;
	agent_filters_at_start();
	signo = ticks || agent.config.sample.on ? agent_own_signal_take(0) : 0;
	if (agent.config.sample.on)
		agent_own_signal_take_unqueued();
	if (ticks || signo)
		start_timers(signo, ticks);
	agent_sample_start(signo);
}

void agent_tick_forked(void)
{
	if (!atomic_load(&tick.on))
		return;
	atomic_store(&tick.busy, false);
	atomic_store(&tick.next_ns, agent.start_ns + tick.interval_ns);
	atomic_store(&tick.signo, tick.room ? agent_own_signal() : 0);
	atomic_store(&tick.left, tick.room);
}

void agent_tick_moved(int signo)
{
	if (!atomic_load(&tick.on))
		return;
	if (!signo && (agent.config.interval || agent.config.delay))
		agent_note(NOTE_TICK);
	atomic_store(&tick.signo, tick.room ? signo : 0);
	restart_timers();
}

void agent_tick_filtered(void)
{
	agent_sample_moved(0);
	if (!agent_own_signal() || !tick.room)
		return;
	tick.room = 0;
	agent_tick_moved(0);
}

void agent_tick_hold(void)
{
	agent_sample_hold();
	if (!agent_own_signal())
		return;
	/* Bounded: the exec may be in a handler that interrupted the snapshot. */
	for (unsigned i = 0; atomic_exchange(&tick.busy, true) && i < PATIENCE; i++)
		sched_yield();
	if (agent_self)
		stop_timer(agent_self);
	/* A pending signal would survive the exec, but its handler would not. */
	agent_own_signal_drop();
}

void agent_tick_let(void)
{
	agent_sample_let();
	if (!atomic_load(&tick.on))
		return;
	atomic_store(&tick.busy, false);
	if (agent_self)
		agent_timer_start(agent_self);
}
