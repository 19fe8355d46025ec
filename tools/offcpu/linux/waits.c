/* SPDX-License-Identifier: MIT */
/* waits.c - sums the waits of each thread in each stack. */
#include "agent/core/base/number.h"
#include "tools/offcpu/private.h"

/* Beyond these, waits have no stack: some 100 MB. */
enum { WAITS_MOST = 1000000 };

static struct off_wait *find(struct off_cpu *off, struct off_thread *thread,
			     const struct unwind_stack *stack)
{
	struct pmc_arena *arena = &off->arena;
	struct off_wait *wait, key = { .key = { thread, stack } };

	HASH_FIND(hh, off->waits, &key.key, sizeof(key.key), wait);
	if (wait || (stack && HASH_COUNT(off->waits) >= WAITS_MOST))
		return wait;
	wait = pmc_arena_alloc(arena, sizeof(*wait));
	if (!wait)
		return NULL;
	wait->key = key.key;
	HASH_ADD(hh, off->waits, key, sizeof(wait->key), wait);
	wait->next = thread->waits;
	thread->waits = wait;
	return wait;
}

void off_wait_add(struct off_cpu *off, struct off_thread *thread, uint64_t ns)
{
	struct off_wait *wait = find(off, thread, thread->stack);

	if (!wait)
		wait = find(off, thread, NULL);
	if (!wait) {
		thread->lost++;
		return;
	}
	wait->n++;
	pmc_add_sat(&wait->ns, ns);
	thread->n_waits++;
	pmc_add_sat(&thread->wait_ns, ns);
	if (thread->stack && thread->stack->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		thread->incomplete++;
}
