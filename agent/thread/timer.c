/* SPDX-License-Identifier: MIT */
/*
 * timer.c - a timer on the CPU time of each thread, which sends the agent's signal to that thread.
 *
 * A thread that waits uses no CPU time, so no blocked system call is interrupted. The timers count
 * against RLIMIT_SIGPENDING, which all processes of the user share: the agent takes a part of it.
 * Children by fork have no timers, and exec deletes them. Async-signal-safe, no lock.
 */
#include "agent/thread/thread.h"

/* musl's name for the member. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static _Atomic int signo; /* 0: no timers */
static _Atomic uint64_t period_ns;
static _Atomic int room;

static void set_period(int id, uint64_t ns)
{
	const struct timespec period = { .tv_sec = (time_t)(ns / 1000000000u),
					 .tv_nsec = (long)(ns % 1000000000u) };
	const struct itimerspec times = { period, period };

	pmc_sys4(SYS_timer_settime, id, 0, &times, NULL);
}

void agent_timer_stop(struct slot *slot)
{
	int timer = atomic_exchange(&slot->timer, 0);

	if (!timer)
		return;
	pmc_sys1(SYS_timer_delete, timer - 1);
	atomic_fetch_add(&room, 1);
}

void agent_timer_start(struct slot *slot)
{
	uint64_t period = atomic_load(&period_ns);
	/* The clock of a thread, see pmc_thread_cpu_ns: any thread may create its timer. */
	const clockid_t clock = (clockid_t)((~slot->tid << 3) | PMC_CLOCK_OF_THREAD);
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = atomic_load(&signo),
				  .sigev_value.sival_ptr = &agent };
	int id;

	if (!event.sigev_signo || !period || (slot->flags & PMC_THREAD_ADOPTED))
		return;
	/* The number of the agent's signal changed after the thread blocked all signals: the new
	 * one is blocked. */
	if (slot->blocked && slot->blocked != event.sigev_signo)
		return;
	event.sigev_notify_thread_id = (pid_t)slot->tid;
	if (atomic_fetch_sub(&room, 1) <= 0 ||
	    pmc_sys3(SYS_timer_create, clock, &event, &id) != 0) {
		atomic_fetch_add(&room, 1);
		agent_note(NOTE_TICK);
		return;
	}
	set_period(id, period);
	atomic_store(&slot->timer, id + 1);
	/* Another thread created the timer while this thread ended. */
	if ((atomic_load(&slot->word) & ~0xffffu) != SLOT_LIVE)
		agent_timer_stop(slot);
}

static void restart(struct slot *slot)
{
	agent_timer_stop(slot);
	agent_timer_start(slot);
}

void agent_timers_signal(int number, int most)
{
	atomic_store(&signo, number);
	if (most >= 0)
		atomic_store(&room, most);
}

void agent_timers_period(uint64_t ns)
{
	atomic_store(&period_ns, ns);
}

void agent_timers_restart(void)
{
	registry_each(&agent_registry, restart);
}
