/* SPDX-License-Identifier: MIT */
/* where.c - --where: the threads, regions and rows of samples that a view has. */
#include "lib/base/number.h"
#include "lib/dump/words.h"
#include "tools/view/view.h"

#include <errno.h>

/* With the columns of threads, then those of rows of samples. */
static int conditions_make(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	const struct pmc_columns *threads = &view->of_threads, *rows = &view->of_groups;
	struct pmc_columns all = { .n = threads->n + (pmc_by_samples(view->by) ? rows->n : 0) };
	struct table_condition *list =
		pmc_arena_alloc(view->arena, 2 * (options->n_where + 1) * sizeof(*list));

	view->conditions = list;
	view->row_conditions = list + options->n_where;
	all.list = pmc_arena_alloc(view->arena, all.n * sizeof(*all.list));
	memcpy(all.list, threads->list, threads->n * sizeof(*all.list));
	memcpy(all.list + threads->n, rows->list, (all.n - threads->n) * sizeof(*all.list));
	for (unsigned i = 0; i < options->n_where; i++) {
		const size_t len = strcspn(options->where[i], "=");
		struct table_condition condition = { .text = options->where[i],
						     .glob = options->where[i] + len + 1 };

		if (!len || !options->where[i][len]) {
			view->problem = "invalid condition: expected COLUMN=GLOB, such as "
					"name=worker-*";
			return -EINVAL;
		}
		condition.column = pmc_columns_find(view, &all, options->where[i], len);
		if (!condition.column)
			return -EINVAL;
		if (condition.column >= all.list + threads->n)
			view->row_conditions[view->n_row_where++] = condition;
		else
			view->conditions[view->n_where++] = condition;
	}
	return 0;
}

void pmc_view_conditions(struct pmc_view *view, bool of_rows)
{
	const struct table_condition *list = of_rows ? view->row_conditions : view->conditions;
	const unsigned n = of_rows ? view->n_row_where : view->n_where;

	for (unsigned i = 0; i < n; i++)
		pmc_say(view, i ? " and %40S" : "%40S", list[i].text);
}

static bool holds(struct pmc_view *view, const struct table_condition *condition,
		  const struct pmc_row *row)
{
	struct table_cell cell = pmc_cell(view, condition->column, row);

	if (table_matches(&cell, condition->glob))
		return true;
	/* Tables call a main thread "(main)". */
	if (condition->column->kind != PMC_COL_FIELD || condition->column->index != PMC_FIELD_name)
		return false;
	cell.text = pmc_thread_label(row->thread, &cell.len);
	return table_matches(&cell, condition->glob);
}

static bool is_of(const struct table_column *column, unsigned index)
{
	return column->kind == PMC_COL_SAMPLE && column->index == index;
}

static bool row_holds(struct pmc_view *view, const struct table_condition *condition,
		      const struct pmc_sample_row *row)
{
	const struct table_column *column = condition->column;
	struct table_cell cell = pmc_cell(view, column, &(struct pmc_row){ .sample = row });

	if (table_matches(&cell, condition->glob))
		return true;
	/* Tables have FILE:LINE in that column. */
	if (!is_of(column, PMC_SAMPLE_line) || view->by != PMC_BY_LINE)
		return false;
	cell = pmc_sample_key_cell(view, row);
	return table_matches(&cell, condition->glob);
}

/* `held`: which conditions hold, for a row of each depth on the way to this one. With --by path, a
 * condition on functions is met by a path if one of its functions matches. */
static bool selects_row(struct pmc_view *view, const struct pmc_sample_row *row, bool *held)
{
	bool *holds = held + (size_t)row->depth * view->n_row_where, all = true;

	for (unsigned i = 0; i < view->n_row_where; i++) {
		const struct table_condition *condition = &view->row_conditions[i];
		const bool inherited = row->depth && view->by == PMC_BY_PATH &&
				       is_of(condition->column, PMC_SAMPLE_function) &&
				       *(holds + i - view->n_row_where);

		holds[i] = inherited || row_holds(view, condition, row);
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

void pmc_view_select_rows(struct pmc_view *view)
{
	struct pmc_view_samples *samples = &view->samples;
	struct pmc_sample_fold *fold = &samples->fold;
	const bool with_callers = pmc_format_is_table(view->options->format);
	bool *selected;
	const struct pmc_sample_row *caller = NULL, **kept;
	uint64_t at = fold->n_rows;

	samples->n_all = fold->n_rows;
	if (!view->n_row_where)
		return;
	samples->whole = true;
	selected = mark_rows(view);
	samples->whole = false;
	kept = pmc_arena_alloc(view->arena, (at + 1) * sizeof(*kept));
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

	view->rows = from;
	view->n_rows = n_from;
	if (!options->n_where)
		return 0;
	if (conditions_make(view))
		return -EINVAL;
	view->rows = pmc_arena_alloc(view->arena, (n_from + 1) * sizeof(*view->rows));
	view->n_rows = 0;
	for (uint64_t i = 0; i < n_from; i++)
		if (selects(view, from[i]))
			view->rows[view->n_rows++] = from[i];
	return 0;
}

/* ---- conditions that nothing meets --------------------------------------------------------- */

/* A value of the column that the condition may have meant, of names their pool; NULL: none. */
static const char *near_miss(struct pmc_view *view, const struct table_condition *condition)
{
	struct pmc_lines *lines = pmc_arena_alloc(view->arena, sizeof(*lines));
	const uint64_t all = view->profile->n_threads, n = all < 10000 ? all : 10000;
	const struct table table = { .arg = lines,
				     .n_rows = n,
				     .row = pmc_line_row,
				     .cell = pmc_line_cell,
				     .arena = &view->profile->arena };
	const char *miss;
	char *pattern;

	if (condition->column->unit != TABLE_TEXT || condition->column->kind != PMC_COL_FIELD)
		return NULL;
	*lines = (struct pmc_lines){ .view = view, .all = n };
	lines->list = pmc_arena_alloc(view->arena, (n + 1) * sizeof(*lines->list));
	for (uint64_t i = 0; i < n; i++)
		lines->list[i] = &view->profile->threads[i];
	miss = table_near(&table, condition);
	if (!miss || strlen(miss) >= 16 || !strstr(miss, condition->glob))
		return miss;
	pattern = pmc_arena_alloc(view->arena, 32);
	pmc_pool_pattern(miss, strlen(miss), pattern);
	return pattern;
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
	pmc_say(view, "no %s matches ", threads ? "thread" : pmc_by_names[view->by]);
	pmc_view_conditions(view, !threads);
	miss = threads && view->n_where == 1 ? near_miss(view, view->conditions) : NULL;
	if (miss)
		pmc_say(view, "; did you mean '%60S'?", miss);
	view->out = out;
	/* The caller reads it after the view is gone. */
	view->problem = pmc_arena_strndup(&view->profile->arena, buf, text.len);
	return -ENOENT;
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
	row->fixed.flags =
		PMC_THREAD_NO_RUSAGE | (pmc_region_has_cpu(region) ? 0 : PMC_THREAD_NO_CPU);
	row->fixed.start_ns = row->fixed.end_ns = 0;
	row->fixed.cpu_ns = region->fixed.cpu_ns;
	row->set = region->set;
	row->counts = region->counts;
	row->region = region;
}

void pmc_view_regions(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	bool all = view->rows == profile->threads;

	view->regions =
		pmc_arena_alloc(view->arena, (profile->n_regions + 1) * sizeof(*view->regions));
	for (uint64_t i = 0; i < profile->n_regions; i++) {
		const struct pmc_p_region *region = profile->regions[i];

		if (all || (region->row && selects(view, region->row)))
			as_thread(profile, region, &view->regions[view->n_regions++]);
	}
}
