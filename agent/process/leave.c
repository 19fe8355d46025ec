/* SPDX-License-Identifier: MIT */
/* leave.c - the end of the process: final rows and report, by the first thread that leaves. */
#include "agent/base/agent.h"
#include "agent/base/ending.h"
#include "agent/base/fork_guard.h"
#include "lib/base/sys.h"
#include "agent/process/process.h"

#include <signal.h>

#include "agent/base/poison.h"

#define BIT(signo) (UINT64_C(1) << ((signo)-1))

/* A handler of the host that ends the process would truncate the rows. Faults of this thread cannot
 * be blocked. */
static uint64_t block_signals(void)
{
	const uint64_t but =
		BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS);
	const uint64_t all = ~but;
	uint64_t mask = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof(all));
	return mask;
}

static void leave(enum pmc_ended how, int code, bool in_clone)
{
	bool active = agent_active(), prints;
	uint64_t mask;

	/* Under a seccomp filter, system calls may be forbidden from here on. */
	if (!active && !agent_ending_unfinished())
		return;
	mask = block_signals();
	if (active && agent_ending_step(AGENT_WRITES)) {
		agent_final(how, code);
		agent_ending_step(AGENT_WRITTEN);
	}
	agent_ending_wait(AGENT_WRITTEN);
	prints = agent_ending_step(AGENT_REPORTS);
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	if (prints) {
		agent_report(in_clone);
		agent_ending_step(AGENT_REPORTED);
	} else if (agent_ending_interrupted()) {
		agent_report_abandon();
	} else {
		agent_ending_wait(AGENT_REPORTED);
	}
}

void agent_leave(enum pmc_ended how, int code, bool in_clone)
{
	if (how == PMC_ENDED_SIGNAL)
		agent_ending_by_signal();
	leave(how, code, in_clone);
	if (how == PMC_ENDED_EXIT)
		agent_ending_await_signal();
}
