/* SPDX-License-Identifier: MIT */
/* where.c - --where: the threads, regions and rows of samples that a view has. */
#include "lib/base/number.h"
#include "lib/base/suggest.h"
#include "lib/dump/row.h"
#include "tools/view/view.h"

#include <errno.h>
#include <fnmatch.h>

struct pmc_condition {
	const struct table_column *column;
	const char *text, *glob; /* COLUMN=GLOB, and its GLOB */
};

/* The columns of threads, then those of rows of samples. */
static int columns_make(struct pmc_view *view, struct pmc_columns *columns)
{
	const struct pmc_columns *threads = &view->of_threads, *rows = &view->of_groups;
	const unsigned n_rows = pmc_by_samples(view->by) ? rows->n : 0;

	columns->n = threads->n + n_rows;
	columns->list = pmc_arena_alloc(view->arena, columns->n * sizeof(*columns->list));
	if (!columns->list)
		return -ENOMEM;
	memcpy(columns->list, threads->list, threads->n * sizeof(*columns->list));
	if (n_rows)
		memcpy(columns->list + threads->n, rows->list, n_rows * sizeof(*columns->list));
	return 0;
}

static int is_invalid(struct pmc_view *view, const char *problem)
{
	view->problem = pmc_arena_strdup(&view->profile->arena, problem);
	return view->problem ? -EINVAL : -ENOMEM;
}

static int conditions_make(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_condition *conditions =
		pmc_arena_alloc(view->arena, (options->n_where + 1) * sizeof(*conditions));
	struct pmc_columns columns = { 0 };

	view->conditions = conditions;
	if (!conditions || columns_make(view, &columns))
		return -ENOMEM;
	for (unsigned i = 0; i < options->n_where; i++) {
		const char *text = options->where[i], *equals = strchr(text, '=');
		struct pmc_condition condition = { .text = text };

		if (!equals || equals == text)
			return is_invalid(view, "invalid condition: expected COLUMN=GLOB, "
						"such as name=worker-*");
		condition.glob = equals + 1;
		condition.column = pmc_columns_find(view, &columns, text, (size_t)(equals - text));
		if (!condition.column)
			return -EINVAL;
		if (condition.column->kind == PMC_COL_SAMPLE) {
			conditions[view->n_where + view->n_row_where++] = condition;
			continue;
		}
		memmove(conditions + view->n_where + 1, conditions + view->n_where,
			view->n_row_where * sizeof(*conditions));
		conditions[view->n_where++] = condition;
	}
	return 0;
}

void pmc_view_conditions(struct pmc_view *view, bool of_rows)
{
	const struct pmc_condition *list = view->conditions + (of_rows ? view->n_where : 0);
	const unsigned n = of_rows ? view->n_row_where : view->n_where;

	for (unsigned i = 0; i < n; i++) {
		pmc_out_str(view->out, i ? " and " : "");
		pmc_view_text(view, list[i].text, 40);
	}
}

static bool holds(struct pmc_view *view, const struct pmc_condition *condition,
		  const struct pmc_row *row)
{
	struct table_cell cell = pmc_cell(view, condition->column, row);

	if (table_matches(&cell, condition->glob))
		return true;
	if (condition->column->kind != PMC_COL_FIELD)
		return false;
	if (condition->column->index == PMC_FIELD_exe)
		return !fnmatch(condition->glob, pmc_base_name(cell.text), 0);
	/* Tables call a main thread "(main)". */
	if (condition->column->index != PMC_FIELD_name)
		return false;
	cell.text = pmc_thread_label(row->thread, &cell.len);
	return table_matches(&cell, condition->glob);
}

/* A path of a file matches as CSV has it, or by its last part, as tables have it. */
static bool row_holds(struct pmc_view *view, const struct pmc_condition *condition,
		      const struct pmc_sample_row *row)
{
	const unsigned index = condition->column->index;
	bool path =
		index == PMC_SAMPLE_module || index == PMC_SAMPLE_file ||
		(index == PMC_SAMPLE_key && (view->by == PMC_BY_LINE || view->by == PMC_BY_MODULE));
	struct table_cell cell = pmc_sample_cell(view, index, row);

	/* Tables have FILE:LINE in that column. */
	if (index == PMC_SAMPLE_line && view->by == PMC_BY_LINE &&
	    !table_matches(&cell, condition->glob)) {
		cell = pmc_sample_cell(view, PMC_SAMPLE_key, row);
		path = true;
	}
	/* Names of functions may be longer than what `matches` holds. */
	if (cell.kind != CELL_TEXT)
		return table_matches(&cell, condition->glob);
	return !fnmatch(condition->glob, cell.text, 0) ||
	       (path && !fnmatch(condition->glob, pmc_base_name(cell.text), 0));
}

/* With --by path, a condition on functions is met by a path if one of its functions matches. */
static bool is_of_path(const struct pmc_view *view, const struct pmc_condition *condition)
{
	return view->by == PMC_BY_PATH && condition->column->index == PMC_SAMPLE_function;
}

/* `held`: which conditions hold, for a row of each depth on the way to this one. */
static bool selects_row(struct pmc_view *view, const struct pmc_sample_row *row, bool *held)
{
	const struct pmc_condition *conditions = view->conditions + view->n_where;
	bool *holds = held + (size_t)row->depth * view->n_row_where, all = true;

	for (unsigned i = 0; i < view->n_row_where; i++) {
		const bool inherited = row->depth && is_of_path(view, &conditions[i]) &&
				       *(holds + i - view->n_row_where);

		holds[i] = inherited || row_holds(view, &conditions[i], row);
		all &= holds[i];
	}
	return all;
}

static bool *mark_rows(struct pmc_view *view)
{
	const struct pmc_sample_fold *fold = &view->samples.fold;
	bool *selected = pmc_arena_alloc(view->arena, fold->n_rows + 1), *held, *below;
	unsigned most = 0;

	for (uint64_t i = 0; i < fold->n_rows; i++)
		most = fold->rows[i]->depth > most ? fold->rows[i]->depth : most;
	held = pmc_arena_alloc(view->arena, (most + 1) * (size_t)view->n_row_where);
	/* By depth: whether the row of the current path at that depth, or a caller of it, is
	 * selected. */
	below = pmc_arena_alloc(view->arena, most + 1);
	if (!selected || !held || !below)
		return NULL;
	for (uint64_t i = 0; i < fold->n_rows; i++) {
		const struct pmc_sample_row *row = fold->rows[i];

		selected[i] = selects_row(view, row, held);
		below[row->depth] = row->depth && below[row->depth - 1];
		if (selected[i] && !below[row->depth]) {
			pmc_add_sat(&view->samples.selected_total, row->total);
			below[row->depth] = true;
		}
	}
	return selected;
}

int pmc_view_select_rows(struct pmc_view *view)
{
	struct pmc_view_samples *samples = &view->samples;
	struct pmc_sample_fold *fold = &samples->fold;
	const bool with_callers = pmc_format_is_table(view->options->format);
	bool *selected;
	const struct pmc_sample_row *caller = NULL, **kept;
	uint64_t at = fold->n_rows;

	samples->n_all = fold->n_rows;
	if (!view->n_row_where)
		return 0;
	samples->whole = true;
	selected = mark_rows(view);
	samples->whole = false;
	kept = pmc_arena_alloc(view->arena, (at + 1) * sizeof(*kept));
	if (!selected || !kept)
		return -ENOMEM;
	/* Backwards, callers come behind what they called: the caller of the row that was kept last
	 * is the next one that has to be kept. */
	for (uint64_t i = fold->n_rows; i-- > 0;) {
		const struct pmc_sample_row *row = fold->rows[i];

		samples->n_matches += selected[i];
		if (!selected[i] && (row != caller || !with_callers))
			continue;
		caller = row->parent;
		kept[--at] = row;
		selected[at] = selected[i];
	}
	samples->selected = selected + at;
	fold->rows = kept + at;
	fold->n_rows -= at;
	return 0;
}

/* Whether the thread meets all conditions of --where. */
static bool selects(struct pmc_view *view, const struct pmc_p_row *from)
{
	struct pmc_thread_buf buf;
	struct pmc_row row;

	if (view->n_where)
		pmc_row_of(view, pmc_profile_thread(view->profile, from, &buf), &row);
	for (unsigned i = 0; i < view->n_where; i++)
		if (!holds(view, &view->conditions[i], &row))
			return false;
	return true;
}

int pmc_view_select(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_profile *profile = view->profile;
	struct pmc_p_row **from = options->timeline ? profile->timeline : profile->threads;
	uint64_t n_from = options->timeline ? profile->n_timeline : profile->n_threads;
	int err;

	view->rows = from;
	view->n_rows = n_from;
	if (!options->n_where)
		return 0;
	err = conditions_make(view);
	if (err)
		return err;
	view->rows = pmc_arena_alloc(view->arena, (n_from + 1) * sizeof(*view->rows));
	if (!view->rows)
		return -ENOMEM;
	view->n_rows = 0;
	for (uint64_t i = 0; i < n_from; i++)
		if (selects(view, from[i]))
			view->rows[view->n_rows++] = from[i];
	return 0;
}

/* ---- conditions that nothing meets --------------------------------------------------------- */

/* Whether the text, or its pool, has the word of the condition in it, or is nearly that word. */
static void try_text(struct pmc_view *view, struct pmc_nearest *nearest, const char *text,
		     size_t len)
{
	char *name = pmc_arena_strndup(view->arena, text, len), pattern[32];

	if (!name || !nearest->len || (nearest->name && !nearest->distance))
		return;
	if (memmem(text, len, nearest->word, nearest->len) && len < 16) {
		pattern[pmc_pool_pattern(text, len, pattern)] = '\0';
		nearest->name = pmc_arena_strdup(view->arena, pattern);
		nearest->distance = 0;
		return;
	}
	pmc_nearest_try(nearest, name);
}

/* A value of the column that the condition may have meant; NULL: none. */
static const char *near_miss(struct pmc_view *view, const struct pmc_condition *condition)
{
	const struct pmc_profile *profile = view->profile;
	struct pmc_nearest nearest;
	struct pmc_thread_buf buf;
	struct pmc_row row;

	if (condition->column->unit != TABLE_TEXT || condition->column->kind != PMC_COL_FIELD)
		return NULL;
	pmc_nearest_init(&nearest, condition->glob, strcspn(condition->glob, "*?["));
	for (uint64_t i = 0; i < profile->n_threads && i < 10000; i++) {
		struct table_cell cell;

		pmc_row_of(view, pmc_profile_thread(view->profile, profile->threads[i], &buf),
			   &row);
		cell = pmc_cell(view, condition->column, &row);
		if (cell.kind == CELL_TEXT)
			try_text(view, &nearest, cell.text, cell.len);
	}
	return nearest.name;
}

int pmc_view_check_selection(struct pmc_view *view)
{
	const struct pmc_view_samples *samples = &view->samples;
	const bool threads = view->n_where && !view->n_rows && view->profile->n_threads;
	const bool rows = view->n_row_where && samples->event && !samples->n_matches;
	struct pmc_out *out = view->out, text;
	const char *miss;
	char buf[512];

	if (!threads && !rows)
		return 0;
	pmc_out_to_mem(&text, buf, sizeof(buf));
	view->out = &text;
	pmc_outf(&text, "no %s matches ",
		 threads		     ? "thread" :
		 view->by == PMC_BY_FUNCTION ? "function" :
		 view->by == PMC_BY_LINE     ? "line" :
		 view->by == PMC_BY_MODULE   ? "module" :
					       "path");
	pmc_view_conditions(view, !threads);
	miss = threads && view->n_where == 1 ? near_miss(view, &view->conditions[0]) : NULL;
	if (miss) {
		pmc_out_str(&text, "; did you mean '");
		pmc_view_text(view, miss, 60);
		pmc_out_str(&text, "'?");
	}
	view->out = out;
	/* The caller reads it after the view is gone. */
	view->problem = pmc_arena_strndup(&view->profile->arena, buf, text.len);
	return view->problem ? -ENOENT : -ENOMEM;
}

/* A region in one thread, as a thread that did nothing else. */
static void as_thread(struct pmc_profile *profile, const struct pmc_p_region *region,
		      struct pmc_p_thread *row)
{
	struct pmc_thread_buf buf;

	if (region->row)
		*row = *pmc_profile_thread(profile, region->row, &buf);
	row->process = (struct pmc_p_process *)region->process;
	row->module = row->symbol = "";
	row->fixed.seq = region->fixed.seq;
	row->fixed.flags = PMC_THREAD_NO_RUSAGE | (region->has_cpu ? 0 : PMC_THREAD_NO_CPU);
	row->fixed.start_ns = row->fixed.end_ns = 0;
	row->fixed.cpu_ns = region->cpu_ns;
	row->set = region->set;
	row->counts = region->counts;
	row->region = region;
}

int pmc_view_regions(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	bool all = view->rows == profile->threads;

	view->regions =
		pmc_arena_alloc(view->arena, (profile->n_regions + 1) * sizeof(*view->regions));
	if (!view->regions)
		return -ENOMEM;
	for (uint64_t i = 0; i < profile->n_regions; i++) {
		const struct pmc_p_region *region = profile->regions[i];

		if (all || (region->row && selects(view, region->row)))
			as_thread(profile, region, &view->regions[view->n_regions++]);
	}
	return 0;
}
