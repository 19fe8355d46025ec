/* SPDX-License-Identifier: MIT */
/* html_roots.c - which threads or pools have flame graphs of their own in a page. */
#include "lib/base/hash.h"
#include "tools/export/html.h"

#include <errno.h>
#include <stdlib.h>

/* The root of a pool. */
struct known_pool {
	const struct pmc_fold_row *pool;
	struct html_root *root;
	UT_hash_handle hh;
};

static uint64_t count_threads(const struct export *export)
{
	const struct pmc_profile *profile = export->profile;
	const struct pmc_p_row *last = NULL;
	uint64_t n = 0;

	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_row *row = profile->samples[i]->row;

		if (!row || row == last || export_event_of(export, profile->samples[i]) < 0)
			continue;
		n++;
		last = row;
	}
	return n;
}

static int name_thread(struct export *export, struct html_root *root, const struct pmc_p_row *row)
{
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread = pmc_profile_thread(export->profile, row, &buf);
	size_t len;
	const char *name = pmc_thread_label(thread, &len);

	root->thread = pmc_arena_strndup(&export->arena, name, len);
	root->tid = thread->fixed.tid;
	root->pid = thread->process->fixed.pid;
	root->host = thread->process->host;
	return root->thread ? 0 : -ENOMEM;
}

/* NULL: no memory. */
static struct html_root *find_pool(struct pmc_arena *arena, struct html_roots *roots,
				   struct known_pool **table, const struct pmc_fold_row *pool)
{
	struct known_pool *known;

	HASH_FIND_PTR(*table, &pool, known);
	if (known)
		return known->root;
	known = pmc_arena_alloc(arena, sizeof(*known));
	if (!known)
		return NULL;
	known->pool = pool;
	known->root = &roots->list[roots->n++];
	known->root->pool = pool->label;
	HASH_ADD_PTR(*table, pool, known);
	return known->root;
}

static int by_samples(const void *a, const void *b)
{
	const uint64_t x = (*(struct html_root *const *)a)->samples;
	const uint64_t y = (*(struct html_root *const *)b)->samples;

	return (x < y) - (x > y);
}

/* Only those with most samples stay; the first root takes the others. */
static int drop_light(struct export *export, struct html_roots *roots)
{
	struct html_root **order = pmc_arena_alloc(&export->arena, (roots->n + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (unsigned i = 0; i + 1 < roots->n; i++)
		order[i] = &roots->list[i + 1];
	qsort(order, roots->n ? roots->n - 1 : 0, sizeof(*order), by_samples);
	for (unsigned i = 0; i + 1 < roots->n; i++)
		order[i]->kept = i < HTML_THREADS_MOST;
	roots->list[0].kept = true;
	for (uint64_t i = 0; i < export->profile->n_samples; i++)
		if (roots->of[i] && !roots->of[i]->kept)
			roots->of[i] = &roots->list[0];
	return 0;
}

static int number(struct export *export, struct html_roots *roots)
{
	for (unsigned i = 0; i < roots->n; i++) {
		char text[16];
		struct pmc_out out;

		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_out_u64(&out, i);
		roots->list[i].row.label = pmc_arena_strndup(&export->arena, text, out.len);
	}
	return export->arena.failed ? -ENOMEM : 0;
}

int html_find_roots(struct export *export, struct html_roots *roots)
{
	const struct pmc_profile *profile = export->profile;
	const uint64_t n_threads = count_threads(export);
	const struct pmc_p_row *last = NULL;
	struct known_pool *known = NULL;
	struct export_pools pools;
	int error = export_find_pools(export, &pools);
	uint64_t most;

	if (error)
		return error;
	roots->are_pools = n_threads > HTML_THREADS_MOST;
	most = (roots->are_pools ? pools.fold.n_rows : n_threads) + 2;
	roots->list = pmc_arena_alloc(&export->arena, most * sizeof(*roots->list));
	roots->of = pmc_arena_alloc(&export->arena, (profile->n_samples + 1) * sizeof(*roots->of));
	if (!roots->list || !roots->of)
		return -ENOMEM;
	roots->n = 1;
	for (uint64_t i = 0; i < profile->n_samples && !error; i++) {
		const struct pmc_p_samples *samples = profile->samples[i];
		struct html_root *root = &roots->list[0];

		if (export_event_of(export, samples) < 0)
			continue;
		if (samples->row && roots->are_pools)
			root = find_pool(&export->arena, roots, &known, pools.of[i]);
		else if (samples->row) /* those of a thread are adjacent */
			root = &roots->list[samples->row == last ? roots->n - 1 : roots->n++];
		if (!root)
			return -ENOMEM;
		if (samples->row && !root->pool)
			root->pool = pools.of[i]->label;
		if (samples->row && !roots->are_pools && !root->thread)
			error = name_thread(export, root, samples->row);
		roots->of[i] = root;
		pmc_add_sat(&root->samples, samples->samples);
		last = samples->row ? samples->row : last;
	}
	if (!error)
		error = drop_light(export, roots);
	return error ? error : number(export, roots);
}
