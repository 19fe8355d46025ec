/* SPDX-License-Identifier: MIT */
/* summary_pools.c - pools of threads, sums over them, and parts of waits in order. */
#include "tools/rows/fold.h"
#include "tools/trace/summary.h"

#include <stdlib.h>
#include <string.h>

static struct trace_thread *pool_of(struct trace_summary *summary, struct trace_thread **pools,
				    const struct trace_thread *thread)
{
	struct pmc_arena *arena = summary->arena;
	char key[sizeof(thread->pattern)];
	struct trace_thread *pool;
	size_t n = pmc_pool_pattern(thread->name, strnlen(thread->name, 15), key);

	/* A NUL between them. */
	memset(key + n, 0, sizeof(key) - n);
	key[sizeof(key) - 1] = thread->wanted;
	HASH_FIND(hh, *pools, key, sizeof(key), pool);
	if (pool)
		return pool;
	pool = pmc_arena_alloc(arena, sizeof(*pool));
	if (!pool) {
		summary->failed = true;
		return NULL;
	}
	memcpy(pool->pattern, key, sizeof(key));
	pool->wanted = thread->wanted;
	pool->pool = pool;
	HASH_ADD(hh, *pools, pattern, sizeof(key), pool);
	return pool;
}

static void add_thread(struct trace_summary *summary, struct trace_thread *pool,
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
	for (const struct trace_part *p = thread->blocked; p; p = p->next)
		trace_blocked_add(summary, pool, p->key.of, p->ns);
	for (const struct trace_part *p = thread->stacks; p; p = p->next)
		trace_part_add(summary, pool, &pool->stacks, p->key.of, p->n, p->ns);
	for (const struct trace_part *p = thread->wakers; p; p = p->next)
		trace_part_add(summary, pool, &pool->wakers,
			       ((const struct trace_thread *)p->key.of)->pool, p->n, p->ns);
}

void trace_pools(struct trace_summary *summary, bool rows)
{
	struct trace_thread *pools = NULL, *threads = summary->last;

	strcpy(summary->interrupt.pattern, summary->interrupt.name);
	summary->interrupt.pool = &summary->interrupt;
	for (struct trace_thread *t = threads; t && !summary->failed; t = t->next)
		t->pool = pool_of(summary, &pools, t);
	if (!rows || summary->failed)
		return;
	/* Threads of the target that have no row are not counted. */
	for (struct trace_thread *t = threads; t; t = t->next)
		if (!t->wanted || trace_is_row(t))
			add_thread(summary, t->pool, t);
	summary->last = NULL;
	for (struct trace_thread *pool = pools; pool; pool = pool->hh.next) {
		pool->next = summary->last;
		summary->last = pool;
	}
}

static int most_time(const void *a, const void *b)
{
	const struct trace_part *x = *(struct trace_part *const *)a;
	const struct trace_part *y = *(struct trace_part *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

void trace_parts_sort(struct trace_part **list)
{
	struct trace_part **parts, *part;
	size_t n = 0;

	for (part = *list; part; part = part->next)
		n++;
	parts = calloc(n + 1, sizeof(*parts));
	if (!parts)
		return; /* unsorted */
	n = 0;
	for (part = *list; part; part = part->next)
		parts[n++] = part;
	qsort(parts, n, sizeof(*parts), most_time);
	for (size_t i = 0; i < n; i++)
		parts[i]->next = parts[i + 1];
	*list = parts[0];
	free(parts);
}
