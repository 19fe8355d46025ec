/* SPDX-License-Identifier: MIT */
/*
 * ending.c - how far the end of the process has come.
 *
 * One thread writes the final rows and the report; other threads that leave meanwhile wait for it,
 * since the first exit_group(2) ends them all. A futex, not sched_yield: the thread that is waited
 * for may have lost its CPU to others. Async-signal-safe.
 */
#include "agent/base/agent.h"

#include <linux/futex.h>

#define PATIENCE_NS UINT64_C(2000000000)

static _Atomic uint32_t reached, waiting;
/* Its address identifies the thread, without a system call. */
static __thread char me;
static char *_Atomic taken_by, *_Atomic killed;

/* A child of fork inherits the state of an ending process, but not the thread that writes. */
static bool is_child(void)
{
	return !agent_alive || atomic_load(agent_alive) == 0 ||
	       (pid_t)pmc_sys1(SYS_getpid, 0) != agent.pid;
}

bool agent_ending_unfinished(void)
{
	uint32_t now = atomic_load(&reached);

	return now != AGENT_RUNS && now != AGENT_REPORTED;
}

bool agent_ending_step(enum agent_ending step)
{
	uint32_t before = (uint32_t)step - 1;

	if (is_child() || !atomic_compare_exchange_strong(&reached, &before, (uint32_t)step))
		return false;
	atomic_store(&taken_by, &me);
	if (atomic_load(&waiting))
		pmc_sys3(SYS_futex, &reached, FUTEX_WAKE_PRIVATE, INT32_MAX);
	return true;
}

bool agent_ending_interrupted(void)
{
	return atomic_load(&reached) == AGENT_REPORTS && atomic_load(&taken_by) == &me &&
	       !is_child();
}

void agent_ending_by_signal(void)
{
	char *nobody = NULL;

	if (!is_child())
		atomic_compare_exchange_strong(&killed, &nobody, &me);
}

static void await(uint32_t step)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const uint64_t start = pmc_now_ns();
	uint32_t now;

	while ((now = atomic_load(&reached)) < step && pmc_now_ns() - start < PATIENCE_NS)
		pmc_sys4(SYS_futex, &reached, FUTEX_WAIT_PRIVATE, now, &pause);
}

void agent_ending_await_signal(void)
{
	/* The end of the process ends the wait. */
	if (atomic_load(&killed) && atomic_load(&killed) != &me && !is_child())
		await(UINT32_MAX);
}

void agent_ending_wait(enum agent_ending step)
{
	uint32_t now = atomic_load(&reached);

	if (now == AGENT_RUNS || now >= (uint32_t)step || atomic_load(&taken_by) == &me ||
	    is_child())
		return;
	atomic_fetch_add(&waiting, 1);
	await((uint32_t)step);
	atomic_fetch_sub(&waiting, 1);
}
