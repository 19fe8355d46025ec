/* SPDX-License-Identifier: MIT */
/* sample_fp.c - call stacks by frame pointers, and the registers of a signal's context. */
#include "agent/sample/private.h"

#include <signal.h>
#include <ucontext.h>

#include "agent/base/poison.h"

/* Larger frames than this are taken for the end of the chain. */
#define FRAME_MOST ((uintptr_t)8 << 20)

void sample_regs_of(const void *context, struct sample_regs *regs)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;

	regs->context = context;
#if defined(__x86_64__)
	regs->ip = (uintptr_t)machine->gregs[REG_RIP];
	regs->sp = (uintptr_t)machine->gregs[REG_RSP];
	regs->fp = (uintptr_t)machine->gregs[REG_RBP];
#elif defined(__aarch64__)
	regs->ip = machine->pc;
	regs->sp = machine->sp;
	regs->fp = machine->regs[29];
#else
	(void)machine;
	regs->ip = regs->sp = regs->fp = 0;
#endif
}

void sample_walk_fp(struct sample_walk *walk)
{
	uintptr_t low = walk->regs.sp, fp = walk->regs.fp;
	uint64_t next, from;

	walk->depth = 0;
	walk->flags = PMC_STACK_FP;
	walk->at[walk->depth++] = walk->regs.ip;
	while (fp) {
		if (walk->depth == PMC_STACK_DEPTH_MAX) {
			walk->flags |= PMC_STACK_TRUNCATED;
			return;
		}
		walk->memory.stack = low;
		/* Code without frame pointers uses the register for something else. */
		if (fp < low || fp - low > FRAME_MOST || fp % sizeof(void *) ||
		    !sample_word(&walk->memory, fp, &next) ||
		    !sample_word(&walk->memory, fp + sizeof(void *), &from) || from < 4096)
			break;
		walk->at[walk->depth++] = from - 1;
		low = fp + 1;
		fp = next;
	}
	if (fp)
		walk->flags |= PMC_STACK_BROKEN;
}
