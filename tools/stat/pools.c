/* SPDX-License-Identifier: MIT */
/*
 * pools.c - rows of pools: sums of threads whose names differ in digits only. A pool has the name
 * of its threads while all have the same.
 */
#include "tools/rows/fold.h"
#include "tools/stat/stat.h"

#include <stdlib.h>
#include <string.h>

static struct stat_row *pool_of(struct stat_job *stat, const struct stat_row *thread)
{
	struct stat_row *pool = stat->pools;
	char name[20] = "";
	size_t len = pmc_pool_pattern(thread->name, strnlen(thread->name, 15), name);

	name[len < sizeof(name) ? len : sizeof(name) - 1] = '\0';
	while (pool < stat->pools + stat->n_pools && strcmp(pool->pattern, name) != 0)
		pool++;
	if (pool < stat->pools + stat->n_pools)
		return pool;
	*pool = (struct stat_row){ .key = { -1, -1, -1, -1, -1 } };
	pool->counts =
		pmc_arena_alloc(&stat->arena, (stat->live.view.count + 1) * sizeof(*pool->counts));
	if (!pool->counts)
		return NULL;
	strcpy(pool->pattern, name);
	live_counts_clear(&stat->live, pool->counts);
	stat->n_pools++;
	return pool;
}

static void add_places(struct stat_row *pool, const struct stat_row *thread)
{
	for (unsigned i = 0; i < STAT_PLACES && thread->places[i].ns; i++) {
		unsigned k = 0;

		while (k < STAT_PLACES && pool->places[k].ns &&
		       strcmp(pool->places[k].name, thread->places[i].name) != 0)
			k++;
		if (k == STAT_PLACES)
			continue;
		memcpy(pool->places[k].name, thread->places[i].name, LIVE_WCHAN);
		pool->places[k].ns += thread->places[i].ns;
	}
}

bool stat_fold_pools(struct stat_job *stat)
{
	/* Threads may change their names. */
	struct stat_row *pools =
		realloc(stat->pools, (stat->n_pools + stat->n_rows) * sizeof(*pools));

	if (!pools)
		return false;
	stat->pools = pools;
	/* Counts of the pools of earlier intervals are used again. */
	for (unsigned p = 0; p < stat->n_pools; p++) {
		live_counts_clear(&stat->live, pools[p].counts);
		pools[p].threads = 0;
		pools[p].seen = pools[p].shown = false;
		memset(pools[p].places, 0, sizeof(pools[p].places));
	}
	for (unsigned r = 1; r < stat->n_rows; r++) {
		struct stat_row *thread = &stat->rows[r], *pool = pool_of(stat, thread);

		if (!pool)
			return false;
		thread->pool = pool;
		if (!pool->threads++)
			memcpy(pool->name, thread->name, sizeof(pool->name));
		else if (strcmp(pool->name, thread->name) != 0)
			strcpy(pool->name, pool->pattern);
		pool->seen |= thread->seen;
		pool->shown |= thread->shown;
		live_counts_add(&stat->live, pool->counts, thread->counts);
		add_places(pool, thread);
	}
	return true;
}
