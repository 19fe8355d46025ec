/* SPDX-License-Identifier: MIT */
/*
 * html.c - a page with tables and flame graphs that needs nothing but a browser.
 *
 * Its text is in page.html, page.css and page.js; the data is JSON in a script element, in which
 * strings have no < (pmc_out.in_html), so no name can end it.
 */
#include "tools/view/report.h"
#include "lib/base/hash.h"
#include "lib/base/json.h"
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/export/export.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Bounds of the page. */
enum {
	HTML_ROWS_MOST = 2000,	 /* of a table; the others are one row */
	HTML_THREADS_MOST = 200, /* with a flame graph of their own; of more, pools have one */
	HTML_BOXES_MOST = 50000, /* of an event */
};
#define HTML_LEAST_SHARE 0.0001 /* of a thread's or pool's samples, of a box */

/* ---- threads and pools that have flame graphs of their own ---------------------------------- */

/* What has flame graphs of its own: threads or pools, and one for all the others. */
struct html_root {
	const char *thread; /* NULL: a pool, or the others */
	const char *pool;   /* NULL: the others */
	uint32_t tid, pid;
	const char *host;
	uint64_t samples;
	bool kept;
	struct pmc_fold_row row; /* its label is its number: the outermost name of its paths */
};

struct html_roots {
	bool are_pools;
	struct html_root **of; /* of each entry of profile->samples; NULL: not exported */
	struct html_root *list;
	unsigned n;
};

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

static int html_find_roots(struct export *export, struct html_roots *roots)
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

/* ---- flame graphs --------------------------------------------------------------------------- */

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

static int html_flames(struct export *export, struct pmc_json *json)
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

/* Made by the Makefile; the line "@data@" stands for the data. */
static const char page[] = {
#include <page.inc>
};

static int put_table(struct export *export, struct pmc_json *json, const char *name,
		     enum pmc_fold_by by)
{
	const struct pmc_report_options options = {
		.by = by,
		.top = HTML_ROWS_MOST,
		.cells = true,
		.screen.width = 1 << 20, /* every column fits */
	};
	int error;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "by", name);
	pmc_out_str(export->out, ",\"table\":");
	error = pmc_report(export->profile, &options, export->out, NULL);
	pmc_json_object_end(json);
	return error;
}

static int put_tables(struct export *export, struct pmc_json *json)
{
	int error;

	pmc_json_array(json, "tables");
	error = put_table(export, json, "thread", PMC_BY_THREAD);
	if (!error)
		error = put_table(export, json, "pool", PMC_BY_POOL);
	if (!error && export->profile->n_processes > 1)
		error = put_table(export, json, "process", PMC_BY_PROCESS);
	if (!error && export->profile->n_regions)
		error = put_table(export, json, "region", PMC_BY_REGION);
	pmc_json_array_end(json);
	return error;
}

/* Processes are in the order of their hosts. */
static void put_hosts(const struct export *export, struct pmc_json *json)
{
	const struct pmc_profile *profile = export->profile;
	const char *last = "";

	pmc_json_array(json, "hosts");
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const char *host = profile->processes[i]->host;

		if (host[0] && strcmp(host, last) != 0)
			pmc_json_str(json, NULL, host);
		last = host;
	}
	pmc_json_array_end(json);
}

static void put_files(const struct export *export, struct pmc_json *json)
{
	pmc_json_array(json, "files");
	for (unsigned i = 0; i < export->n_files; i++)
		pmc_json_str(json, NULL, export->files[i]);
	pmc_json_array_end(json);
}

/* A process that calls exec has several images, each with a row of its own. */
static uint64_t count_processes(const struct pmc_profile *profile)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++)
		n += profile->processes[i]->origin == profile->processes[i];
	return n;
}

static int put_data(struct export *export)
{
	struct pmc_json json;
	int error;

	pmc_json_init(&json, export->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "pmctl", PMC_VERSION);
	pmc_json_u64(&json, "rows_most", HTML_ROWS_MOST);
	pmc_json_u64(&json, "threads_most", HTML_THREADS_MOST);
	pmc_json_u64(&json, "processes", count_processes(export->profile));
	put_hosts(export, &json);
	put_files(export, &json);
	error = put_tables(export, &json);
	if (!error)
		error = html_flames(export, &json);
	pmc_json_object_end(&json);
	return error;
}

int export_html(struct export *export)
{
	static const char mark[] = "@data@\n";
	const char *data = strstr(page, mark);
	int error;

	if (!data)
		return -EINVAL;
	pmc_out_bytes(export->out, page, (size_t)(data - page));
	export->out->in_html = true;
	error = put_data(export);
	export->out->in_html = false;
	pmc_out_str(export->out, "\n");
	pmc_out_str(export->out, data + sizeof(mark) - 1);
	return error == export->out->error ? 0 : error;
}
