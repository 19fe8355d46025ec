/* SPDX-License-Identifier: MIT */
/* summary_waker.c - waits by the thread that ended them and by cause. */
#include "lib/base/number.h"
#include "tools/trace/trace.h"

/* ---- waits ---------------------------------------------------------------------------------- */

static struct trace_wait *wait_of(struct trace_summary *summary, struct trace_thread *thread,
				  const struct trace_thread *waker, uint64_t cause)
{
	struct pmc_arena *arena = &summary->trace->arena;
	struct trace_wait *wait, key = { .key = { thread, waker, cause } };

	HASH_FIND(hh, summary->waits, &key.key, sizeof(key.key), wait);
	if (wait)
		return wait;
	wait = pmc_arena_alloc(arena, sizeof(*wait));
	wait->key = key.key;
	wait->next = thread->waits;
	thread->waits = wait;
	HASH_ADD(hh, summary->waits, key, sizeof(wait->key), wait);
	return wait;
}

void trace_wait_end(struct trace_summary *summary, struct trace_thread *thread, uint64_t now)
{
	const struct trace_thread *by =
		thread->waker ? thread->waker : &summary->no_thread[BY_UNKNOWN];
	struct trace_wait *wait = wait_of(summary, thread, by, thread->cause);
	const uint64_t ns = pmc_sub_sat(now, thread->since_ns);

	thread->waker = NULL;
	wait->ns += ns;
	pmc_histogram_add(&summary->trace->arena, &wait->lengths, ns);
}

void trace_waits_fold(struct trace_summary *summary, struct trace_thread *pool,
		      const struct trace_thread *thread)
{
	for (const struct trace_wait *p = thread->waits; p; p = p->next) {
		struct trace_wait *wait = wait_of(summary, pool, p->key.waker->pool, p->key.cause);

		wait->ns += p->ns;
		pmc_histogram_merge(&summary->trace->arena, &wait->lengths, &p->lengths);
	}
}

const char *trace_cause_name(uint64_t cause)
{
	static const char *const names[N_CAUSES] = {
		[CAUSE_OTHER] = "other",
		[CAUSE_LOCK] = "lock",
		[CAUSE_PIPE] = "pipe",
		[CAUSE_SOCKET] = "socket",
		[CAUSE_TIMER] = "timer",
		[CAUSE_DISK] = "disk",
		[CAUSE_POLL] = "poll",
		[CAUSE_CHILD] = "child",
		[CAUSE_SIGNAL] = "signal",
		[CAUSE_TERMINAL] = "terminal",
		[CAUSE_PAGE_FAULT] = "page fault",
	};

	return names[cause];
}
