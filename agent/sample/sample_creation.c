/* SPDX-License-Identifier: MIT */
/* sample_creation.c - stacks at thread creation (PMC_STACKS). */
#include "agent/base/agent.h"
#include "agent/sample/private.h"

#include <signal.h>
#include <ucontext.h>

/* musl has none: no stacks there. */
#pragma weak getcontext

struct work {
	struct sample_walk *walk;
	uint32_t stack;
};

static void take(void *arg)
{
	struct work *work = arg;

	work->stack = sample_walk_id(work->walk);
}

void agent_sample_creation(struct slot *slot, const void *caller)
{
	struct sample_thread *thread = agent.config.stacks ? sample_of(slot) : NULL;
	const uint64_t all = ~UINT64_C(0);
	struct work work = { NULL, 0 };
	ucontext_t context;
	uint64_t mask;
	void *top;

	if (!thread)
		return;
	/* No handler of the host's may leave this function by a jump, nor sample within it. */
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
	work.walk = sample_scratch_take(&top);
	if (work.walk && getcontext && getcontext(&context) == 0) {
		sample_regs_of(&context, &work.walk->regs);
		work.walk->outer = (uintptr_t)caller;
		sample_on_stack(top, take, &work);
		thread->created_stack = work.stack;
	}
	if (work.walk)
		sample_scratch_give(work.walk);
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

uint32_t agent_sample_created(const struct slot *slot)
{
	const struct sample_thread *thread = agent.config.stacks ? sample_of(slot) : NULL;

	return thread ? thread->created_stack : 0;
}
