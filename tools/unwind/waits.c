/* SPDX-License-Identifier: MIT */
/* waits.c - sums the waits of each thread in each stack. */
#include "lib/base/number.h"
#include "tools/unwind/unwind.h"

/* Beyond these, waits have no stack: some 100 MB. */
enum { WAITS_MOST = 1000000 };

static struct unwind_wait *find(struct unwind *unwind, const void *thread,
				struct unwind_wait **list, const struct unwind_stack *stack)
{
	struct pmc_arena *arena = &unwind->arena;
	struct unwind_wait *wait, key = { .key = { thread, stack } };

	HASH_FIND(hh, unwind->waits, &key.key, sizeof(key.key), wait);
	if (wait || (stack && HASH_COUNT(unwind->waits) >= WAITS_MOST))
		return wait;
	wait = pmc_arena_alloc(arena, sizeof(*wait));
	if (!wait)
		return NULL;
	wait->key = key.key;
	wait->next = *list;
	*list = wait;
	HASH_ADD(hh, unwind->waits, key, sizeof(wait->key), wait);
	return wait;
}

bool unwind_wait_add(struct unwind *unwind, const void *thread, struct unwind_wait **list,
		     const struct unwind_stack *stack, uint64_t n, uint64_t ns)
{
	struct unwind_wait *wait = find(unwind, thread, list, stack);

	if (!wait)
		wait = find(unwind, thread, list, NULL);
	if (!wait)
		return false;
	wait->n += n;
	pmc_add_sat(&wait->ns, ns);
	return true;
}
