/* SPDX-License-Identifier: MIT */
/* html_flames.c - the flame graphs of a page: a tree of functions for each event. */
#include "agent/core/base/hash.h"
#include "agent/core/base/number.h"
#include "tools/export/html.h"

#include <errno.h>

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
	double least; /* share of a root that a box has at least */
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

/* Whether box i is large enough; *root is the last row without a caller before it. */
static bool is_shown(const struct flame *flame, uint64_t i, const struct pmc_sample_row **root)
{
	const struct pmc_sample_row *row = flame->fold.rows[i];

	if (!row->depth)
		*root = row;
	return !row->depth || (double)row->total >= flame->least * (double)(*root)->total;
}

/* Leaves out more small boxes until the others are few enough. */
static void choose_least(struct flame *flame)
{
	const struct pmc_sample_row *root = NULL;

	for (flame->least = HTML_LEAST_SHARE;; flame->least *= 2) {
		flame->boxes = 0;
		for (uint64_t i = 0; i < flame->fold.n_rows; i++)
			flame->boxes += is_shown(flame, i, &root);
		if (flame->boxes <= HTML_BOXES_MOST || flame->least > 1)
			break;
	}
	flame->left_out = flame->fold.n_rows - flame->boxes;
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
	const struct pmc_sample_row *root = NULL;
	uint64_t number;

	pmc_json_line(json);
	pmc_json_array(json, "boxes");
	for (uint64_t i = 0; i < flame->fold.n_rows; i++) {
		const struct pmc_sample_row *row = flame->fold.rows[i];
		const struct function *function;

		if (!is_shown(flame, i, &root))
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

	if (error)
		return error;
	choose_least(flame);
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
	pmc_json_double(json, "least_pct", 100 * flame->least);
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
