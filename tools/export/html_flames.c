/* SPDX-License-Identifier: MIT */
/* html_flames.c - the flame graphs of a page: a tree of functions for each event. */
#include "lib/base/hash.h"
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/export/html.h"

#include <errno.h>
#include <math.h>

/* A function of some box. Names and modules are those of spots, which are the same for all. */
struct function {
	struct function_key {
		const char *name, *module;
	} key;
	uint64_t index;
	UT_hash_handle hh;
};

struct flame {
	struct export *export;
	const struct html_roots *roots;
	struct pmc_arena arena; /* of one event */
	struct pmc_sample_fold fold;
	struct function *functions; /* in the order of their index */
	uint64_t samples, weight, boxes, left_out;
	bool *shown;	      /* of each row of the fold */
	double most_left_out; /* share of a root that no box that is left out exceeds */
};

/* ---- the tree ---------------------------------------------------------------------------- */

static int choose_samples(struct flame *flame, unsigned event)
{
	const struct pmc_profile *profile = flame->export->profile;
	struct pmc_sample_fold *fold = &flame->fold;

	fold->by = PMC_BY_PATH;
	fold->arena = &flame->arena;
	fold->lists =
		pmc_arena_alloc(&flame->arena, (profile->n_samples + 1) * sizeof(*fold->lists));
	fold->pools =
		pmc_arena_alloc(&flame->arena, (profile->n_samples + 1) * sizeof(*fold->pools));
	if (!fold->lists || !fold->pools)
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *samples = profile->samples[i];

		if (export_event_of(flame->export, samples) != (int)event)
			continue;
		fold->pools[fold->n_lists] = &flame->roots->of[i]->row;
		fold->lists[fold->n_lists++] = samples;
		pmc_add_sat(&flame->samples, samples->samples);
		pmc_add_sat(&flame->weight, samples->weight);
	}
	return report_fold_samples(fold, flame->export->names);
}

/* Of the thread's or pool's weight. A callee has at most its caller's share. */
struct ranked {
	double share;
	uint64_t row;
};

static int by_share(const void *a, const void *b, const void *arg)
{
	const struct ranked *x = a, *y = b;

	(void)arg;
	return (x->share < y->share) - (x->share > y->share);
}

/* The boxes that are large enough, roots before all others. Returns their number. */
static uint64_t rank_boxes(const struct flame *flame, struct ranked *ranks)
{
	double whole = 0;
	uint64_t n = 0;

	for (uint64_t i = 0; i < flame->fold.n_rows; i++) {
		const struct pmc_sample_row *row = flame->fold.rows[i];
		const double total = (double)row->total;

		if (!row->depth)
			whole = total;
		if (!row->depth)
			ranks[n++] = (struct ranked){ HUGE_VAL, i };
		else if (total >= HTML_LEAST_SHARE * whole)
			ranks[n++] = (struct ranked){ whole > 0 ? total / whole : 0, i };
	}
	return n;
}

/* Shows the largest boxes. Of equal ones those that come first: callers, and whole stacks. */
static int choose_boxes(struct flame *flame)
{
	const uint64_t n_rows = flame->fold.n_rows;
	struct ranked *ranks = pmc_arena_alloc(&flame->arena, (n_rows + 1) * sizeof(*ranks));
	struct ranked *scratch = pmc_arena_alloc(&flame->arena, (n_rows + 1) * sizeof(*ranks));

	flame->shown = pmc_arena_alloc(&flame->arena, (n_rows + 1) * sizeof(*flame->shown));
	if (!ranks || !scratch || !flame->shown)
		return -ENOMEM;
	flame->most_left_out = HTML_LEAST_SHARE;
	flame->boxes = rank_boxes(flame, ranks);
	if (flame->boxes > HTML_BOXES_MOST) {
		pmc_sort(ranks, scratch, flame->boxes, sizeof(*ranks), by_share, NULL);
		flame->boxes = HTML_BOXES_MOST;
		flame->most_left_out = ranks[HTML_BOXES_MOST].share;
	}
	for (uint64_t i = 0; i < flame->boxes; i++)
		flame->shown[ranks[i].row] = true;
	flame->left_out = n_rows - flame->boxes;
	return 0;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static struct function *find_function(struct flame *flame, const struct pmc_sample_row *row)
{
	struct pmc_arena *arena = &flame->arena;
	const struct function_key key = { row->function, row->module };
	struct function *function;

	HASH_FIND(hh, flame->functions, &key, sizeof(key), function);
	if (function)
		return function;
	function = pmc_arena_alloc(arena, sizeof(*function));
	if (!function)
		return NULL;
	function->key = key;
	function->index = HASH_COUNT(flame->functions);
	HASH_ADD(hh, flame->functions, key, sizeof(key), function);
	return arena->failed ? NULL : function;
}

/* Five numbers a box: depth, function or root, own weight, weight, samples. A caller comes before
 * its callees. */
static int put_boxes(struct flame *flame, struct pmc_json *json)
{
	uint64_t number;

	pmc_json_line(json);
	pmc_json_array(json, "boxes");
	for (uint64_t i = 0; i < flame->fold.n_rows; i++) {
		const struct pmc_sample_row *row = flame->fold.rows[i];
		const struct function *function;

		if (!flame->shown[i])
			continue;
		if (!row->depth) {
			if (!pmc_number(row->function, UINT32_MAX, &number))
				return -EINVAL;
		} else {
			function = find_function(flame, row);
			if (!function)
				return -ENOMEM;
			number = function->index;
		}
		pmc_json_u64(json, NULL, row->depth);
		pmc_json_u64(json, NULL, number);
		pmc_json_u64(json, NULL, row->self);
		pmc_json_u64(json, NULL, row->total);
		pmc_json_u64(json, NULL, row->total_samples);
	}
	pmc_json_array_end(json);
	return 0;
}

static void put_functions(const struct flame *flame, struct pmc_json *json)
{
	const struct function *function;

	pmc_json_line(json);
	pmc_json_array(json, "functions");
	for (function = flame->functions; function; function = function->hh.next)
		pmc_json_str(json, NULL, function->key.name);
	pmc_json_array_end(json);
	pmc_json_line(json);
	pmc_json_array(json, "modules");
	for (function = flame->functions; function; function = function->hh.next)
		pmc_json_str(json, NULL, function->key.module);
	pmc_json_array_end(json);
}

/* The line in front of the table of pmctl report --by function. */
static int put_explained(struct export *export, const struct pmc_p_event *event)
{
	const struct pmc_report_options options = {
		.by = PMC_BY_FUNCTION,
		.event = event->name,
		.core_type = event->core_type,
		.cells = true,
	};

	int error;

	pmc_out_str(export->out, ",\"explained\":");
	error = pmc_report(export->profile, &options, export->out, NULL);
	if (error != -EINVAL)
		return error;
	/* All its threads are unknown. */
	pmc_out_str(export->out, "\"\"");
	return 0;
}

static int put_flame(struct flame *flame, unsigned event, struct pmc_json *json)
{
	const struct pmc_p_event *sampled = flame->export->events[event];
	int error = choose_samples(flame, event);

	if (!error)
		error = choose_boxes(flame);
	if (error)
		return error;
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "event", sampled->name);
	pmc_json_str(json, "core_type", sampled->core_type[0] ? sampled->core_type : NULL);
	pmc_json_bool(json, "time", export_is_time(sampled));
	pmc_json_bool(json, "waits", pmc_is_off_cpu(sampled));
	pmc_json_u64(json, "samples", flame->samples);
	pmc_json_u64(json, "weight", flame->weight);
	error = put_explained(flame->export, sampled);
	if (error)
		return error;
	pmc_json_double(json, "most_left_out_pct", 100 * flame->most_left_out);
	pmc_json_u64(json, "left_out", flame->left_out);
	error = put_boxes(flame, json);
	put_functions(flame, json);
	pmc_json_object_end(json);
	return error;
}

static void put_root(const struct html_root *root, struct pmc_json *json)
{
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "pool", root->pool);
	pmc_json_str(json, "thread", root->thread);
	pmc_json_known(json, "tid", root->thread, root->tid);
	pmc_json_known(json, "pid", root->thread, root->pid);
	pmc_json_str(json, "host", root->host);
	pmc_json_object_end(json);
}

int html_flames(struct export *export, struct pmc_json *json)
{
	struct html_roots roots = { .are_pools = false };
	int error = html_find_roots(export, &roots);

	if (error)
		return error;
	pmc_json_bool(json, "by_pool", roots.are_pools);
	pmc_json_array(json, "roots");
	for (unsigned i = 0; i < roots.n; i++)
		put_root(&roots.list[i], json);
	pmc_json_array_end(json);
	pmc_json_array(json, "flames");
	for (unsigned i = 0; i < export->n_events && !error; i++) {
		struct flame flame = { .export = export, .roots = &roots };

		error = put_flame(&flame, i, json);
		pmc_arena_free(&flame.arena);
	}
	pmc_json_array_end(json);
	return error;
}
