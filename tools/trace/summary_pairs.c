/* SPDX-License-Identifier: MIT */
/* summary_pairs.c - which thread woke which, and sums over pools of threads. */
#include "tools/rows/fold.h"
#include "tools/trace/summary.h"

#include <stdlib.h>
#include <string.h>

bool trace_pair_add(struct trace_summary *summary, const struct trace_thread *woken,
		    const struct trace_thread *by, uint64_t count, uint64_t wait_ns)
{
	struct pmc_arena *arena = summary->arena;
	struct trace_pair *pair, key = { .key = { woken, by } };

	HASH_FIND(hh, summary->pairs, &key.key, sizeof(key.key), pair);
	if (!pair) {
		pair = pmc_arena_alloc(arena, sizeof(*pair));
		if (!pair)
			return false;
		*pair = (struct trace_pair){ .key = key.key };
		HASH_ADD(hh, summary->pairs, key, sizeof(pair->key), pair);
	}
	pair->count += count;
	pair->wait_ns += wait_ns;
	return true;
}

static int most_wait(const void *a, const void *b)
{
	const struct trace_pair *x = *(struct trace_pair *const *)a;
	const struct trace_pair *y = *(struct trace_pair *const *)b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns < y->wait_ns ? 1 : -1;
	return x->key.by->tid < y->key.by->tid ? -1 : x->key.by->tid > y->key.by->tid;
}

struct trace_pair **trace_pairs_of(const struct trace_summary *summary,
				   const struct trace_thread *woken, unsigned *n)
{
	struct trace_pair **list;
	unsigned count = 0;

	for (struct trace_pair *p = summary->pairs; p; p = p->hh.next)
		count += p->key.woken == woken;
	list = calloc(count + 1u, sizeof(struct trace_pair *));
	*n = 0;
	for (struct trace_pair *p = summary->pairs; list && p; p = p->hh.next)
		if (p->key.woken == woken)
			list[(*n)++] = p;
	if (*n)
		qsort(list, *n, sizeof(struct trace_pair *), most_wait);
	return list;
}

/* ---- pools ---------------------------------------------------------------------------------- */

void trace_pattern(const struct trace_thread *thread, char pattern[20])
{
	pattern[pmc_pool_pattern(thread->name, strnlen(thread->name, 15), pattern)] = '\0';
}

static struct trace_thread *pool_of(struct trace_thread **pools, const struct trace_thread *thread)
{
	struct trace_thread *pool;
	char pattern[20];

	trace_pattern(thread, pattern);
	for (pool = *pools; pool; pool = pool->next)
		if (!strcmp(pool->pattern, pattern) && pool->wanted == thread->wanted)
			return pool;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	strcpy(pool->pattern, pattern);
	pool->wanted = thread->wanted;
	pool->next = *pools;
	return *pools = pool;
}

static bool add_thread(struct trace_summary *summary, struct trace_thread *pool,
		       const struct trace_thread *thread)
{
	/* The name of its threads while all have the same. */
	if (!pool->threads++)
		strcpy(pool->name, thread->name);
	else if (strcmp(pool->name, thread->name) != 0)
		strcpy(pool->name, pool->pattern);
	pool->slept |= thread->slept;
	pool->oncpu_ns += thread->oncpu_ns;
	pool->delay_ns += thread->delay_ns;
	pool->preempted += thread->preempted;
	pool->unseen += thread->unseen;
	pool->waited += thread->waited;
	if (thread->longest_ns > pool->longest_ns)
		pool->longest_ns = thread->longest_ns;
	for (unsigned i = 0; i < 65; i++)
		pool->waits[i] += thread->waits[i];
	for (unsigned i = 0; i < thread->n_blocked; i++)
		if (!trace_blocked_add(pool, thread->blocked[i].reason, thread->blocked[i].ns))
			return false;
	for (const struct unwind_wait *w = thread->stacks; w; w = w->next)
		trace_wait_add(summary, pool, w->key.stack, w->n, w->ns);
	return true;
}

bool trace_pools(struct trace_summary *summary)
{
	struct trace_thread *pools = NULL;
	struct trace_pair *pairs = summary->pairs;
	bool ok = true;

	for (struct trace_thread *t = summary->last; t && ok; t = t->next) {
		t->pool = pool_of(&pools, t);
		/* Threads of the target that have no row are not counted. */
		ok = t->pool &&
		     ((t->wanted && !trace_is_row(t)) || add_thread(summary, t->pool, t));
	}
	summary->pairs = NULL;
	for (struct trace_pair *p = pairs; p; p = p->hh.next) {
		const struct trace_thread *by = p->key.by->pool ? p->key.by->pool : p->key.by;

		ok = ok && trace_pair_add(summary, p->key.woken->pool, by, p->count, p->wait_ns);
	}
	for (struct trace_thread *t = summary->last, *after; t; t = after) {
		after = t->next;
		free(t->blocked);
		free(t);
	}
	summary->last = pools;
	return ok;
}
