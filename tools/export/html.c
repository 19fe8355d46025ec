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
#include "lib/base/sort.h"
#include "tools/export/export.h"

#include <errno.h>

enum {
	HTML_ROWS_MOST = 2000,	 /* of a table; the others are one row */
	HTML_THREADS_MOST = 200, /* with a flame graph of their own; of more, pools have one */
	HTML_BOXES_MOST = 50000, /* of an event */
	HTML_LINES_MOST = 5000,	 /* of an event, those with most samples of their own */
};
#define HTML_LEAST_SHARE 0.0001 /* of the samples of a thread or pool, of a box */

/* ---- threads and pools that have flame graphs of their own ---------------------------------- */

/* The owner of flame graphs: a thread or a pool; the first root is that of unknown threads. */
struct root {
	const struct pmc_p_row *thread; /* NULL: a pool, or unknown */
	const char *pool;		/* NULL: unknown */
};

struct roots {
	bool are_pools;
	struct root *list;
	uint64_t n;
	const struct pmc_fold_row **of; /* of each of export->lists, see root_at() */
};

static uint64_t root_at(const struct pmc_fold_row *row)
{
	return row->index + 1;
}

static uint64_t count_threads(const struct export *export)
{
	const struct pmc_p_row *last = NULL;
	uint64_t n = 0;

	for (uint64_t i = 0; i < export->n_lists; i++) {
		const struct pmc_p_row *row = export->lists[i].of->row;

		/* Those of a thread are adjacent. */
		n += row && row != last;
		last = row ? row : last;
	}
	return n;
}

static void find_roots(struct export *export, struct roots *roots)
{
	struct pmc_arena *arena = &export->arena;
	struct pmc_fold_row *unknown = pmc_arena_alloc(arena, sizeof(*unknown));
	struct pmc_thread_buf buf;
	struct pmc_fold fold;

	unknown->label = "";
	unknown->index = UINT64_MAX;
	roots->are_pools = count_threads(export) > HTML_THREADS_MOST;
	roots->list = pmc_arena_alloc(arena, (export->n_lists + 1) * sizeof(*roots->list));
	roots->of = pmc_arena_alloc(arena, (export->n_lists + 1) * sizeof(*roots->of));
	pmc_fold_begin(&fold, &export->united, NULL,
		       roots->are_pools ? PMC_BY_POOL : PMC_BY_THREAD);
	for (uint64_t i = 0; i < export->n_lists; i++) {
		const struct pmc_p_row *row = export->lists[i].of->row;
		struct root *root;

		roots->of[i] = unknown;
		if (!row)
			continue;
		roots->of[i] = pmc_fold_find(&fold, pmc_profile_thread(export->profile, row, &buf));
		root = &roots->list[root_at(roots->of[i])];
		root->thread = roots->are_pools ? NULL : row;
		root->pool = export->lists[i].pool->label;
	}
	pmc_fold_end(&fold);
	roots->n = 1 + fold.n_rows;
}

/* ---- flame graphs --------------------------------------------------------------------------- */

struct flame {
	struct export *export;
	const struct roots *roots;
	struct pmc_arena arena; /* of one event */
	struct pmc_sample_fold fold;
	struct export_pair *functions; /* of boxes: names and modules of spots */
	uint64_t n_shown, left_out;
	bool *shown;	      /* of each row of the fold */
	double most_left_out; /* share of a root that no box that is left out exceeds */
};

/* ---- the tree ---------------------------------------------------------------------------- */

static void choose_samples(struct flame *flame, unsigned event)
{
	const struct export *export = flame->export;
	struct pmc_sample_fold *fold = &flame->fold;

	fold->by = PMC_BY_PATH;
	fold->group_rows = true;
	fold->arena = &flame->arena;
	fold->lists = pmc_arena_alloc(&flame->arena, (export->n_lists + 1) * sizeof(*fold->lists));
	fold->groups =
		pmc_arena_alloc(&flame->arena, (export->n_lists + 1) * sizeof(*fold->groups));
	for (uint64_t i = 0; i < export->n_lists; i++) {
		if (export->lists[i].event != event)
			continue;
		fold->groups[fold->n_lists] = flame->roots->of[i];
		fold->lists[fold->n_lists++] = export->lists[i].of;
	}
	report_fold_samples(fold, export->names);
}

/* Shows further boxes, those with at least that share of their thread or pool, as many as fit. A
 * caller has at least its callee's share and comes before it. */
static void show_boxes(struct flame *flame, double least)
{
	double whole = 0;

	for (uint64_t i = 0; i < flame->fold.n_rows; i++) {
		const struct pmc_sample_row *row = flame->fold.rows[i];

		if (!row->depth)
			whole = (double)row->total;
		if (flame->shown[i] || (row->depth && (double)row->total < least * whole))
			continue;
		flame->shown[i] = flame->n_shown < HTML_BOXES_MOST;
		flame->n_shown += flame->shown[i];
		if (!flame->shown[i] && flame->most_left_out < 2 * least)
			flame->most_left_out = 2 * least;
	}
}

/* The largest first. */
static void choose_boxes(struct flame *flame)
{
	const uint64_t n = flame->fold.n_rows;

	flame->shown = pmc_arena_alloc(&flame->arena, (n + 1) * sizeof(*flame->shown));
	flame->most_left_out = HTML_LEAST_SHARE;
	for (double least = 16384 * HTML_LEAST_SHARE; least >= HTML_LEAST_SHARE; least /= 2)
		show_boxes(flame, least);
	flame->left_out = n - flame->n_shown;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static uint64_t function_at(struct flame *flame, const struct pmc_sample_row *row)
{
	return export_pair_of(&flame->arena, &flame->functions, row->function, row->module)
		       ->number -
	       1;
}

/* Five numbers a box: depth, function or root, own weight, weight, samples. A caller comes before
 * its callees. */
static void put_boxes(struct flame *flame, struct pmc_json *json)
{
	pmc_json_line(json);
	pmc_json_array(json, "boxes");
	for (uint64_t i = 0; i < flame->fold.n_rows; i++) {
		const struct pmc_sample_row *row = flame->fold.rows[i];

		if (!flame->shown[i])
			continue;
		pmc_json_u64(json, NULL, row->depth);
		pmc_json_u64(json, NULL,
			     row->depth ? function_at(flame, row) : root_at(row->group));
		pmc_json_u64(json, NULL, row->self);
		pmc_json_u64(json, NULL, row->total);
		pmc_json_u64(json, NULL, row->total_samples);
	}
	pmc_json_array_end(json);
}

static int by_self(const void *a, const void *b, const void *arg)
{
	const struct pmc_sample_row *const *x = a, *const *y = b;

	(void)arg;
	return ((*x)->self < (*y)->self) - ((*x)->self > (*y)->self);
}

/* Source lines of all threads: four values each: function, file, line, own weight. */
static void put_lines(struct flame *flame, struct pmc_json *json)
{
	struct pmc_sample_fold fold = { .by = PMC_BY_LINE,
					.silent = true,
					.arena = &flame->arena,
					.lists = flame->fold.lists,
					.n_lists = flame->fold.n_lists };
	const struct pmc_sample_row **scratch;
	uint64_t n = 0;

	report_fold_samples(&fold, flame->export->names);
	scratch = pmc_arena_alloc(&flame->arena, (fold.n_rows + 1) * sizeof(*scratch));
	pmc_sort(fold.rows, scratch, fold.n_rows, sizeof(*fold.rows), by_self, NULL);
	pmc_json_line(json);
	pmc_json_array(json, "lines");
	for (uint64_t i = 0; i < fold.n_rows && n < HTML_LINES_MOST; i++) {
		const struct pmc_sample_row *row = fold.rows[i];

		if (!row->self || !row->line || !row->file[0])
			continue;
		n++;
		pmc_json_u64(json, NULL, function_at(flame, row));
		pmc_json_str(json, NULL, row->file);
		pmc_json_u64(json, NULL, row->line);
		pmc_json_u64(json, NULL, row->self);
	}
	pmc_json_array_end(json);
}

static void put_functions(const struct flame *flame, struct pmc_json *json)
{
	const struct export_pair *function;

	pmc_json_line(json);
	pmc_json_array(json, "functions");
	for (function = flame->functions; function; function = function->hh.next)
		pmc_json_str(json, NULL, function->key.a);
	pmc_json_array_end(json);
	pmc_json_line(json);
	pmc_json_array(json, "modules");
	for (function = flame->functions; function; function = function->hh.next)
		pmc_json_str(json, NULL, function->key.b);
	pmc_json_array_end(json);
}

/* The line in front of the table of pmctl report --by function. */
static void put_explained(struct export *export, const struct pmc_p_event *event)
{
	const struct pmc_report_options options = {
		.by = PMC_BY_FUNCTION,
		.event = event->name,
		.core_type = event->core_type,
		.cells = true,
	};

	pmc_out_str(export->out, ",\"explained\":");
	/* All its threads are unknown. */
	if (pmc_report(export->profile, &options, export->out, NULL) == -EINVAL)
		pmc_out_str(export->out, "\"\"");
}

/* Of each root, a list by powers of 2: the longest time and the number of waits, two values each.
 */
static void put_lengths(struct flame *flame, unsigned event, struct pmc_json *json)
{
	const struct export *export = flame->export;
	const struct roots *roots = flame->roots;
	struct pmc_fold_waits *waits = pmc_arena_alloc(&flame->arena, roots->n * sizeof(*waits));
	struct pmc_thread_buf buf;

	for (uint64_t i = 0; i < export->n_lists; i++) {
		const struct pmc_p_row *row = export->lists[i].of->row;

		if (row && export->lists[i].event == event)
			pmc_fold_add_waits(&waits[root_at(roots->of[i])], &flame->arena,
					   pmc_profile_thread(export->profile, row, &buf)->waits);
	}
	pmc_json_line(json);
	pmc_json_array(json, "lengths");
	for (uint64_t i = 0; i < roots->n; i++) {
		pmc_json_array(json, NULL);
		for (const struct pmc_octave *o = waits[i].lengths.octaves; o; o = o->next) {
			uint64_t n = 0;

			for (unsigned k = 0; k < PMC_HISTOGRAM_PARTS; k++)
				n += o->n[k];
			pmc_json_u64(json, NULL,
				     pmc_histogram_bound(o->octave, PMC_HISTOGRAM_PARTS - 1));
			pmc_json_u64(json, NULL, n);
		}
		pmc_json_array_end(json);
	}
	pmc_json_array_end(json);
}

static void put_flame(struct flame *flame, unsigned index, struct pmc_json *json)
{
	const struct export_event *event = &flame->export->events[index];
	const struct pmc_p_event *sampled = event->event;

	choose_samples(flame, index);
	choose_boxes(flame);
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "event", sampled->name);
	pmc_json_str(json, "core_type", sampled->core_type[0] ? sampled->core_type : NULL);
	pmc_json_bool(json, "time", export_is_time(sampled));
	pmc_json_bool(json, "waits", pmc_is_off_cpu(sampled));
	pmc_json_u64(json, "samples", event->samples);
	pmc_json_u64(json, "weight", event->weight);
	put_explained(flame->export, sampled);
	pmc_json_double(json, "most_left_out_pct", 100 * flame->most_left_out);
	pmc_json_u64(json, "left_out", flame->left_out);
	put_boxes(flame, json);
	put_lines(flame, json);
	put_functions(flame, json);
	if (pmc_is_off_cpu(sampled))
		put_lengths(flame, index, json);
	pmc_json_object_end(json);
}

void export_put_owner(const struct export *export, const struct pmc_p_row *row, const char *pool,
		      struct pmc_json *json)
{
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread =
		row ? pmc_profile_thread(export->profile, row, &buf) : NULL;
	size_t len = 0;
	const char *name = thread ? pmc_thread_label(thread, &len) : NULL;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "pool", pool);
	if (thread)
		pmc_json_strn(json, "thread", name, len);
	else
		pmc_json_null(json, "thread");
	pmc_json_known(json, "tid", thread, thread ? thread->fixed.tid : 0);
	pmc_json_str(json, "host", thread ? thread->process->host : NULL);
}

static void put_flames(struct export *export, struct pmc_json *json)
{
	struct roots roots;

	find_roots(export, &roots);
	pmc_json_bool(json, "by_pool", roots.are_pools);
	pmc_json_array(json, "roots");
	for (uint64_t i = 0; i < roots.n; i++) {
		export_put_owner(export, roots.list[i].thread, roots.list[i].pool, json);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	pmc_json_array(json, "flames");
	for (unsigned i = 0; i < export->n_events; i++) {
		struct flame flame = { .export = export, .roots = &roots };

		put_flame(&flame, i, json);
		pmc_arena_free(&flame.arena);
	}
	pmc_json_array_end(json);
}

/* Made by the Makefile; the line "@data@" stands for the data, "@nonce@" for what scripts and
 * styles have in common with the page's policy. */
static const char page[] = {
#include <page.inc>
};

static void put_table(struct export *export, struct pmc_json *json, const char *name,
		      enum pmc_fold_by by)
{
	const struct pmc_report_options options = {
		.by = by,
		.top = HTML_ROWS_MOST,
		.cells = true,
		.screen.width = 1 << 20, /* every column fits */
	};

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "by", name);
	pmc_out_str(export->out, ",\"table\":");
	pmc_report(export->profile, &options, export->out, NULL);
	pmc_json_object_end(json);
}

static void put_tables(struct export *export, struct pmc_json *json)
{
	pmc_json_array(json, "tables");
	put_table(export, json, "thread", PMC_BY_THREAD);
	put_table(export, json, "pool", PMC_BY_POOL);
	if (export->profile->n_processes > 1)
		put_table(export, json, "process", PMC_BY_PROCESS);
	if (export->profile->n_regions)
		put_table(export, json, "region", PMC_BY_REGION);
	pmc_json_array_end(json);
}

/* Processes are in the order of their machines. */
static void put_hosts(const struct export *export, struct pmc_json *json)
{
	const struct pmc_profile *profile = export->profile;
	const char *last = "";

	pmc_json_array(json, "hosts");
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const char *host = profile->processes[i]->node;

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

/* The other side of a difference. */
static void put_before(const struct export *export, struct pmc_json *json)
{
	struct export *before = export->before;

	before->out = export->out;
	pmc_json_object(json, "before");
	put_files(before, json);
	put_flames(before, json);
	pmc_json_object_end(json);
	pmc_json_str(json, "per", export->per);
	if (!export->per)
		return;
	pmc_json_double(json, "per_before", before->per_count);
	pmc_json_double(json, "per_after", export->per_count);
}

static void put_data(struct export *export)
{
	struct pmc_json json;

	pmc_json_init(&json, export->out);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "pmctl", PMC_VERSION);
	pmc_json_u64(&json, "rows_most", HTML_ROWS_MOST);
	pmc_json_u64(&json, "threads_most", HTML_THREADS_MOST);
	pmc_json_u64(&json, "processes", count_processes(export->profile));
	put_hosts(export, &json);
	put_files(export, &json);
	put_tables(export, &json);
	put_flames(export, &json);
	export_strip(export, &json);
	if (export->before)
		put_before(export, &json);
	pmc_json_object_end(&json);
}

/* 128 bits that no name in a dump can contain but by chance: the key of these hashes is random. */
static void make_nonce(char nonce[33])
{
	const uint64_t bits[] = { pmc_hash("page", 4), pmc_hash("nonce", 5) };
	struct pmc_out out = pmc_out_mem(nonce, 33);

	pmc_out_hex_bytes(&out, (const uint8_t *)bits, sizeof(bits));
}

static void put_part(struct pmc_out *out, const char *at, const char *end, const char *nonce)
{
	static const char mark[] = "@nonce@";
	const char *next;

	for (; (next = strstr(at, mark)) && next < end; at = next + sizeof(mark) - 1) {
		pmc_out_bytes(out, at, (size_t)(next - at));
		pmc_out_str(out, nonce);
	}
	pmc_out_bytes(out, at, (size_t)(end - at));
}

void export_html(struct export *export)
{
	static const char mark[] = "@data@\n";
	const char *data = strstr(page, mark);
	char nonce[33];

	make_nonce(nonce);
	put_part(export->out, page, data, nonce);
	export->out->in_html = true;
	put_data(export);
	export->out->in_html = false;
	pmc_out_str(export->out, "\n");
	put_part(export->out, data + sizeof(mark) - 1, page + sizeof(page) - 1, nonce);
}
