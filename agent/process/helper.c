/* SPDX-License-Identifier: MIT */
/*
 * helper.c - waits for PMC_DELAY, then takes a snapshot every PMC_INTERVAL.
 *
 * The helper thread has no row, and its CPU time is overhead of the agent. Its signals are blocked
 * by pthread_sigmask, which leaves out the C library's own: blocking those would hang the host's
 * setuid.
 */
#include "agent/base/agent.h"
#include "agent/core/base/clock.h"
#include "agent/base/real.h"
#include "agent/base/note.h"
#include "agent/process/process.h"

#include <linux/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)128 << 10)

static void sleep_until(uint64_t ns)
{
	const struct timespec at = { .tv_sec = (time_t)(ns / 1000000000u),
				     .tv_nsec = (long)(ns % 1000000000u) };

	while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0 &&
	       errno == EINTR)
		;
}

static void *run(void *arg)
{
	uint64_t next = agent.start_ns + agent.config.delay, cost = 0;

	atomic_store(&agent.helper_tid, (uint32_t)syscall(SYS_gettid));
	syscall(SYS_prctl, PR_SET_NAME, "pmcagent", 0, 0, 0);
	if (agent.config.delay && !agent.forked) {
		sleep_until(next);
		if (pmc_agent_control.state == PMC_CONTROL_ON && agent.config.start)
			agent_counting_start();
	}
	if (!agent.config.interval)
		return arg;
	next = pmc_now_ns();
	while (pmc_agent_control.state == PMC_CONTROL_ON) {
		uint64_t now = agent_overhead_clock();

		agent_overhead_add(now - cost);
		cost = now;
		next += agent.config.interval;
		/* Late by a whole interval or more: skip those. */
		if (next < pmc_now_ns())
			next = pmc_now_ns() + agent.config.interval;
		sleep_until(next);
		if (pmc_agent_control.state == PMC_CONTROL_ON)
			agent_snapshot();
	}
	return arg;
}

void agent_helper_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	if (pmc_agent_control.state != PMC_CONTROL_ON || !agent.measured ||
	    (!agent.config.interval && !agent.config.delay))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_attr_init(&attr) == 0) {
		pthread_attr_setstacksize(&attr, STACK_BYTES);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		atomic_store(&agent.helper_tid, AGENT_HELPER_BEGINS);
		if (REAL(pthread_create)(&thread, &attr, run, NULL) != 0) {
			atomic_store(&agent.helper_tid, 0);
			agent_note(NOTE_HELPER);
		}
		pthread_attr_destroy(&attr);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void agent_helper_forked(void)
{
	atomic_store(&agent.helper_tid, 0);
	if (agent.config.interval)
		agent_helper_start();
}
