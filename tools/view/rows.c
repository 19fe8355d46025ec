/* SPDX-License-Identifier: MIT */
/* rows.c - the rows of a view: --where, their order, steps of a timeline, CSV. */
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/table/histogram.h"
#include "tools/view/view.h"

#include <errno.h>

/* ---- conditions ------------------------------------------------------------------------ */

static bool is_region(const struct table_column *column)
{
	return column->kind == PMC_COL_FIELD && column->index == PMC_FIELD_region;
}

/* The thread's column with the key of groups by it, under the name that it has in CSV. */
static unsigned add_key(const struct pmc_view *view, struct table_column *to)
{
	const struct pmc_columns *threads = &view->of_threads;
	const char *key = pmc_by_names[view->by], *none;
	const struct table_column *column =
		!key || view->n_outer ?
			NULL :
			table_find(threads->list, threads->n, key, strlen(key), view->arena, &none);

	if (!column)
		return 0;
	*to = *column;
	to->name = "key";
	return 1;
}

/* With the columns of threads, then those of rows of samples. */
static int conditions_make(struct pmc_view *view)
{
	const struct pmc_report_options *options = view->options;
	const struct pmc_columns *threads = &view->of_threads, *rows = &view->of_groups;
	unsigned n = threads->n + (pmc_by_samples(view->by) ? rows->n : 0);
	struct table_column *all = pmc_arena_alloc(view->arena, (n + 1) * sizeof(*all));
	struct table_condition *list;
	int err;

	memcpy(all, threads->list, threads->n * sizeof(*all));
	memcpy(all + threads->n, rows->list, (n - threads->n) * sizeof(*all));
	if (!pmc_by_samples(view->by))
		n += add_key(view, all + n);
	/* The profile's arena: the problem is read after the view is gone. */
	err = table_conditions(all, n, options->where, options->n_where, &view->profile->arena,
			       &list, &view->problem);
	view->conditions = pmc_arena_alloc(view->arena, 2 * (options->n_where + 1) * sizeof(*list));
	view->row_conditions = view->conditions + options->n_where;
	for (unsigned i = 0; i < options->n_where && !err; i++)
		if ((pmc_by_samples(view->by) && list[i].column >= all + threads->n) ||
		    is_region(list[i].column))
			view->row_conditions[view->n_row_where++] = list[i];
		else
			view->conditions[view->n_where++] = list[i];
	return err;
}

void pmc_view_conditions(struct pmc_view *view, bool of_rows)
{
	const struct table_condition *list = of_rows ? view->row_conditions : view->conditions;
	const unsigned n = of_rows ? view->n_row_where : view->n_where;

	for (unsigned i = 0; i < n; i++)
		pmc_say(view, i ? " and %40S" : "%40S", list[i].text);
}

static bool is_of(const struct table_column *column, unsigned index)
{
	return column->kind == PMC_COL_SAMPLE && column->index == index;
}

static bool holds(struct pmc_view *view, const struct table_condition *condition,
		  const struct pmc_row *row)
{
	const struct table_column *column = condition->column;
	struct table_cell cell = pmc_cell(view, column, row);

	if (table_matches(&cell, condition->glob))
		return true;
	/* Tables call a main thread "(main)", a pool of one name by it, and have FILE:LINE in the
	 * column of lines. */
	if (column->kind == PMC_COL_FIELD &&
	    (column->index == PMC_FIELD_name || column->index == PMC_FIELD_pool))
		cell.text = pmc_thread_label(row->thread, &cell.len);
	else if (is_of(column, PMC_SAMPLE_line) && view->by == PMC_BY_LINE)
		cell = pmc_sample_key_cell(view, row->sample);
	else
		return false;
	return table_matches(&cell, condition->glob);
}

/* `held`: which conditions hold, for a row of each depth on the way to this one. With --by tree, a
 * condition on functions is met by a path if one of its functions matches. */
static bool selects_row(struct pmc_view *view, const struct pmc_sample_row *row, bool *held)
{
	bool *met = held + (size_t)row->depth * view->n_row_where, all = true;

	for (unsigned i = 0; i < view->n_row_where; i++) {
		const struct table_condition *condition = &view->row_conditions[i];
		const bool inherited = row->depth && view->by == PMC_BY_PATH &&
				       is_of(condition->column, PMC_SAMPLE_function) &&
				       *(met + i - view->n_row_where);

		met[i] = inherited || holds(view, condition, &(struct pmc_row){ .sample = row });
		all &= met[i];
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
	/* By depth: whether that row of the current path, or a caller of it, is selected. */
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

/* Of a region: its name. */
static bool selects_region(struct pmc_view *view, const struct pmc_p_thread *region)
{
	struct pmc_row row;

	pmc_row_of(view, region, &row);
	for (unsigned i = 0; i < view->n_row_where; i++)
		if (!holds(view, &view->row_conditions[i], &row))
			return false;
	return true;
}

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
	const bool rows = view->n_row_where &&
			  (view->by == PMC_BY_REGION ? !view->n_regions :
						       samples->event && !samples->n_matches);
	struct pmc_out *out = view->out, text;
	const char *miss;
	char buf[512];

	if (!threads && !rows)
		return 0;
	pmc_out_to_mem(&text, buf, sizeof(buf));
	view->out = &text;
	pmc_say(view, "no %s matches ",
		threads			? "thread" :
		view->by == PMC_BY_PATH ? "path" :
					  pmc_by_names[view->by]);
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
	if (!region->row)
		row->module = row->symbol = "";
	row->fixed.seq = region->fixed.seq;
	row->fixed.flags = (row->fixed.flags & PMC_THREAD_MAIN) | PMC_THREAD_NO_RUSAGE |
			   (pmc_region_has_cpu(region) ? 0 : PMC_THREAD_NO_CPU);
	row->least_usage = false;
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

		if (!all && !(region->row && selects(view, region->row)))
			continue;
		as_thread(profile, region, &view->regions[view->n_regions]);
		view->n_regions += selects_region(view, &view->regions[view->n_regions]);
	}
}

/* ---- order ----------------------------------------------------------------------------- */

/* Clocks of different hosts have nothing in common: host by host, then by time. */
static int by_time(const void *a, const void *b, const void *arg)
{
	const struct pmc_p_row *x = **(struct pmc_p_row * *const *)a;
	const struct pmc_p_row *y = **(struct pmc_p_row * *const *)b;
	int diff = x->process == y->process ? 0 : strcmp(x->process->node, y->process->node);

	(void)arg;
	return diff ? diff : (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* CPU time, by the clock that stands for it. */
static const char *cpu_column(const struct pmc_view *view)
{
	return pmc_by_samples(view->by) ? "self" :
	       view->clock_event < 0	? "cpu_ns" :
					  view->events.columns[view->clock_event].label;
}

static const struct table_column *sort_column(struct pmc_view *view, bool groups, const char *name)
{
	const struct pmc_columns *columns = groups ? &view->of_groups : &view->of_threads;
	const struct table_column *column = pmc_columns_find(view, columns, name, strlen(name));

	/* The whole of which a share is one is not known yet. */
	if (column && column->kind == PMC_COL_FIELD && column->index == PMC_FIELD_share)
		return sort_column(view, groups, cpu_column(view));
	return column;
}

static void sort_lines_by(struct pmc_lines *lines, const struct table_column *column)
{
	struct pmc_arena *arena = lines->view->arena;
	const struct table table = {
		.arg = lines, .row = pmc_line_row, .cell = pmc_line_cell, .arena = arena
	};
	uint64_t *order = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*order));
	const void **list = pmc_arena_alloc(arena, (lines->n + 1) * sizeof(*list));

	table_sort(&table, column, false, order, lines->n);
	for (uint64_t i = 0; i < lines->n; i++)
		list[i] = lines->list[order[i]];
	lines->list = list;
}

static int sort_lines(struct pmc_lines *lines)
{
	struct pmc_view *view = lines->view;
	const char *names[] = { "total", cpu_column(view), view->options->sort };
	const bool groups = lines->groups, samples = groups && pmc_by_samples(view->by);

	if (groups && view->by == PMC_BY_PATH)
		return 0;
	for (unsigned i = !samples || view->by == PMC_BY_WAKER; i < 3 && names[i]; i++) {
		const struct table_column *column = sort_column(view, groups, names[i]);

		if (!column)
			return -EINVAL;
		sort_lines_by(lines, column);
	}
	return 0;
}

static const struct pmc_sample_row *sample_row(const void *line)
{
	return *(const struct pmc_sample_row *const *)line;
}

static int by_interval(const void *a, const void *b, const void *arg)
{
	const uint64_t x = sample_row(a)->group->groups[0]->time_ns;
	const uint64_t y = sample_row(b)->group->groups[0]->time_ns;

	(void)arg;
	return (x > y) - (x < y);
}

/* Lines of samples by time, the first `top` of each interval in front of all others. Returns their
 * number. Unless --top asks for them, those that only call others are not among them. */
static uint64_t sort_intervals(struct pmc_lines *lines, uint64_t top)
{
	struct pmc_arena *arena = lines->view->arena;
	const void **list = pmc_arena_alloc(arena, 2 * (lines->all + 1) * sizeof(*list));
	const void **rest = list + lines->all + 1;
	const bool asked = lines->view->options->top >= 0;
	uint64_t shown = 0, left = 0, taken = 0;

	pmc_sort(lines->list, list, lines->all, sizeof(*list), by_interval, NULL);
	for (uint64_t i = 0; i < lines->all; i++) {
		if (!i || by_interval(&lines->list[i - 1], &lines->list[i], NULL))
			taken = 0;
		if (!top || (taken++ < top && (asked || sample_row(&lines->list[i])->self)))
			list[shown++] = lines->list[i];
		else
			rest[left++] = lines->list[i];
	}
	memcpy(list + shown, rest, left * sizeof(*list));
	lines->list = list;
	return shown;
}

/* How many lines a view shows: 0 is all. Of a tree pmc_sample_top() chooses them. */
static uint64_t limit(const struct pmc_view *view)
{
	int top = view->options->top;

	if (top >= 0)
		return (uint64_t)top;
	if (!pmc_format_is_table(view->options->format) || view->options->timeline)
		return 0;
	return view->options->every_ns ? 5 : 20;
}

int pmc_view_lines(struct pmc_view *view, bool groups, struct pmc_lines *lines)
{
	const struct pmc_report_options *options = view->options;
	const struct pmc_fold_row *group = view->groups.rows;
	const bool samples = groups && pmc_by_samples(view->by);
	const bool folded = groups && !view->threads_apart;
	uint64_t top = limit(view), n = samples ? view->samples.fold.n_rows :
					folded	? view->groups.n_rows :
						  view->n_rows;
	int err;

	*lines = (struct pmc_lines){ .view = view, .groups = groups, .n = n, .all = n };
	lines->list = pmc_arena_alloc(view->arena, 2 * (n + 1) * sizeof(*lines->list));
	for (uint64_t i = 0; i < n; i++) {
		lines->list[i] = samples ? (const void *)view->samples.fold.rows[i] :
				 folded	 ? (const void *)group :
					   &view->rows[i];
		group = group ? group->next : NULL;
	}
	if (options->timeline) {
		pmc_sort(lines->list, lines->list + n + 1, n, sizeof(*lines->list), by_time, NULL);
		return 0;
	}
	/* In CSV and JSON threads keep the order of the profile. */
	if (!groups && !pmc_format_is_table(options->format) &&
	    (view->by != PMC_BY_NONE || !(options->sort || top)))
		return 0;
	err = sort_lines(lines);
	/* One row instead of "(1 more)", unless --top asks for a number of rows. */
	lines->n = top && top + (options->top < 0) < n ? top : n;
	if (!err && top && samples && view->by == PMC_BY_PATH)
		pmc_sample_top(view, lines);
	else if (!err && samples && options->every_ns)
		lines->n = sort_intervals(lines, top);
	return err;
}

/* ---- CSV ------------------------------------------------------------------------------- */

struct csv {
	struct table table;
	struct pmc_lines lines;
	struct pmc_out *out;
};

static void put_csv(void *rows, uint64_t i)
{
	struct csv *csv = rows;

	table_csv_row(&csv->table, i, csv->out);
}

int pmc_view_csv(struct pmc_view *view)
{
	const bool groups = view->by != PMC_BY_NONE;
	const struct pmc_profile *profile = view->profile;
	struct pmc_columns columns = groups ? view->of_groups : view->of_threads;
	struct csv csv = { .out = view->out };
	int err = view->options->columns ? pmc_columns_choose(view, &columns, &columns) : 0;

	if (!err)
		err = pmc_view_lines(view, groups, &csv.lines);
	if (err)
		return err;
	if (view->options->histogram) {
		pmc_view_histograms(&csv.lines);
		return 0;
	}
	csv.lines.all = csv.lines.n;
	csv.table = (struct table){ .columns = columns.list,
				    .n_columns = columns.n,
				    .n_rows = csv.lines.n,
				    .arg = &csv.lines,
				    .row = pmc_line_row,
				    .cell = pmc_line_cell };
	/* Uncore events are in no thread's row: processes that counted them have a row for it. */
	if (!groups && !view->options->timeline && !view->n_where)
		for (uint64_t i = 0; i < profile->n_processes; i++)
			csv.table.n_rows += profile->processes[i]->machine.set != NULL;
	table_csv_head(&csv.table, view->out);
	return pmc_print_rows(view, csv.table.n_rows, put_csv, &csv);
}

/* ---- histograms of waits ------------------------------------------------------------------- */

void pmc_view_histograms(struct pmc_lines *lines)
{
	const struct pmc_view *view = lines->view;
	const struct pmc_profile *profile = view->profile;
	const bool csv = view->options->format == PMC_FORMAT_CSV;
	struct table_histograms to = { .arena = view->arena,
				       .out = view->out,
				       .format = (enum table_format)view->options->format,
				       .screen = view->options->screen,
				       .indent = 2,
				       .places = csv ? !lines->groups : profile->n_processes > 1 };

	table_histograms_begin(&to);
	for (uint64_t i = 0; i < lines->n && (csv || i < TABLE_HISTOGRAM_ROWS); i++) {
		struct table_histogram_row row = { .len = 0 };
		const struct pmc_p_thread *t;

		pmc_line_row(lines, i);
		t = lines->row.thread;
		if (t) {
			row.name = t->fixed.name;
			row.len = strnlen(row.name, sizeof(t->fixed.name));
			if (!csv)
				row.name = pmc_thread_label(t, &row.len);
			row.host = cell_text(t->process->host);
			row.pid = cell_number(t->process->known, t->process->fixed.pid);
			row.tid = cell_number(true, t->fixed.tid);
		} else {
			row.name = lines->row.sums->label;
			row.len = strlen(row.name);
		}
		table_histograms_add(&to, &row, "off-cpu", &lines->row.sums->waits.lengths);
		table_histograms_add(&to, &row, "preempted", &lines->row.sums->delays.lengths);
	}
	table_histograms_end(&to);
}

/* ---- rows of lines ----------------------------------------------------------------------- */

/* Whether it has a value, or was 0 as the event has not run yet. */
static bool is_known(const struct pmc_count *count)
{
	return pmc_count_has_value(count) || count->error == PMC_REASON_NOT_STARTED ||
	       (count->error == PMC_REASON_NEVER_RAN && count->enabled_ns);
}

/* One count of the step: not counted if the event was never on the PMU in it. */
static void count_step(struct pmc_count *step, const struct pmc_count *now,
		       const struct pmc_count *before)
{
	*step = *now;
	if (!pmc_count_has_value(now) || !before)
		return;
	/* A difference needs both ends. */
	if (!is_known(before)) {
		*step = (struct pmc_count){ .state = before->state, .error = before->error };
		return;
	}
	step->raw = pmc_sub_sat(now->raw, before->raw);
	if (now->added)
		step->added = pmc_sub_sat(now->added, pmc_count_value(before));
	step->enabled_ns = pmc_sub_sat(now->enabled_ns, before->enabled_ns);
	step->running_ns = pmc_sub_sat(now->running_ns, before->running_ns);
	if (step->enabled_ns && !step->running_ns) {
		step->state = PMC_NOT_COUNTED;
		step->error = PMC_REASON_NEVER_RAN;
	} else {
		step->state = step->running_ns < step->enabled_ns ? PMC_SCALED : PMC_COUNTED;
	}
}

/* The count of the same event in the snapshot before, which may have other groups. */
static const struct pmc_count *count_before(const struct pmc_p_thread *before,
					    const struct pmc_p_thread *now, unsigned i)
{
	const struct pmc_p_event *was, *is;

	if (!before || !before->counts || !before->set || i >= before->set->count)
		return NULL;
	was = &before->set->events[i];
	is = &now->set->events[i];
	return was->def.position == is->def.position && strcmp(was->name, is->name) == 0 &&
			       strcmp(was->core_type, is->core_type) == 0 ?
		       &before->counts[i] :
		       NULL;
}

/* Counting was off all the time. */
static void skip_step(struct pmc_p_thread *step, struct pmc_count *counts)
{
	step->fixed.flags |= PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE;
	step->fixed.flags &= (uint8_t)~PMC_THREAD_DELAY;
	for (unsigned i = 0; step->set && step->counts && i < step->set->count; i++)
		if (pmc_count_has_value(&counts[i]))
			counts[i] = (struct pmc_count){ .state = PMC_NOT_COUNTED,
							.error = PMC_REASON_NOT_STARTED };
}

/* The difference from the snapshot before of the same thread. The first step starts at its birth,
 * at which it may have waited for a CPU, or the last reset, so that the steps since then add up to
 * the thread's row. */
void pmc_view_step(struct pmc_view *view, struct pmc_p_row *const *at, struct pmc_row_buf *buf,
		   struct pmc_row *row)
{
	const struct pmc_p_thread *now, *before = NULL;
	struct pmc_thread_fixed *fixed = &buf->step.fixed;
	uint64_t since, on_ns, dt_ns, ahead_ns;
	bool begun;

	now = pmc_profile_thread(view->profile, at[0], &buf->now);
	if (at > view->rows && at < view->rows + view->n_rows && pmc_same_thread(at[-1], at[0]))
		before = pmc_profile_thread(view->profile, at[-1], &buf->before);
	buf->step = *now;
	on_ns = pmc_thread_on_ns(fixed, fixed->time_ns);
	/* Values from before a reset are lost, so the step starts at the reset. */
	if (before && fixed->reset_ns > before->fixed.reset_ns)
		before = NULL;
	begun = before && pmc_thread_has_begun(&before->fixed);
	since = before		? before->fixed.time_ns :
		fixed->reset_ns ? fixed->reset_ns :
				  fixed->start_ns;
	if (now->set && now->counts) {
		for (unsigned i = 0; i < now->set->count; i++)
			count_step(&buf->counts[i], &now->counts[i],
				   count_before(begun ? before : NULL, now, i));
		buf->step.counts = buf->counts;
	}
	if (before) {
		const struct pmc_thread_fixed *was = &before->fixed;

		on_ns = pmc_sub_sat(on_ns, pmc_thread_on_ns(was, was->time_ns));
		fixed->cpu_ns = pmc_sub_sat(fixed->cpu_ns, was->cpu_ns);
		fixed->minor_faults = pmc_sub_sat(fixed->minor_faults, was->minor_faults);
		fixed->major_faults = pmc_sub_sat(fixed->major_faults, was->major_faults);
		fixed->voluntary_switches =
			pmc_sub_sat(fixed->voluntary_switches, was->voluntary_switches);
		fixed->involuntary_switches =
			pmc_sub_sat(fixed->involuntary_switches, was->involuntary_switches);
		if (!on_ns && fixed->off_ns > was->off_ns)
			skip_step(&buf->step, buf->counts);
		if (begun)
			fixed->flags |= was->flags & (PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE);
		if (was->flags & PMC_THREAD_DELAY)
			fixed->delay_ns = pmc_sub_sat(fixed->delay_ns, was->delay_ns);
		else
			fixed->flags &= (uint8_t)~PMC_THREAD_DELAY;
	}
	/* The start of an adopted thread is not known. */
	dt_ns = since ? pmc_sub_sat(fixed->time_ns, since) : 0;
	ahead_ns = before ? 0 : pmc_delay_before_start(now);
	pmc_add_sat(&dt_ns, ahead_ns);
	pmc_add_sat(&on_ns, ahead_ns);
	if (before && !before->fixed.start_ns)
		on_ns = dt_ns;
	pmc_row_of(view, &buf->step, row);
	row->step = true;
	row->t_ns = fixed->time_ns;
	row->dt_ns = dt_ns;
	view->one.wall_ns = on_ns;
}

static void machine_row(struct pmc_lines *lines, uint64_t i)
{
	struct pmc_p_process *const *process = lines->view->profile->processes;

	while (!(*process)->machine.set || i--)
		process++;
	lines->buf.step = (struct pmc_p_thread){
		.process = *process,
		.set = (*process)->machine.set,
		.counts = (*process)->machine.counts,
		.module = "",
		.symbol = "",
		.fixed = { .name = "(machine)",
			   .created_by = PMC_NO_SEQ,
			   .flags = PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE,
			   .start_ns = (*process)->fixed.start_ns,
			   .end_ns = (*process)->fixed.end_ns },
	};
	pmc_row_of(lines->view, &lines->buf.step, &lines->row);
}

static void group_row(struct pmc_lines *lines, const struct pmc_p_thread *thread)
{
	struct pmc_fold_row *sums = &lines->view->one;
	struct pmc_out out;

	pmc_out_to_mem(&out, lines->group_label, sizeof(lines->group_label));
	pmc_thread_key(thread, &out);
	lines->group.label = lines->group_label;
	lines->group.process = thread->process;
	lines->group_list[0] = &lines->group;
	pmc_fold_clear(sums, &lines->view->events);
	pmc_fold_add(sums, &lines->view->events, thread, true);
	sums->label = lines->group_label;
	sums->groups = lines->group_list;
	lines->row = (struct pmc_row){ .sums = sums };
}

void pmc_line_row(void *arg, uint64_t i)
{
	struct pmc_lines *lines = arg;
	struct pmc_view *view = lines->view;
	struct pmc_p_row *const *at;

	if (i >= lines->all) {
		machine_row(lines, i - lines->all);
		return;
	}
	at = lines->list[i];
	if (lines->groups && pmc_by_samples(view->by))
		lines->row = (struct pmc_row){ .sample = lines->list[i] };
	else if (lines->groups && view->threads_apart)
		group_row(lines, pmc_profile_thread(view->profile, *at, &lines->buf.now));
	else if (lines->groups)
		lines->row = (struct pmc_row){ .sums = lines->list[i] };
	else if (view->options->timeline)
		pmc_view_step(view, at, &lines->buf, &lines->row);
	else
		pmc_row_of(view, pmc_profile_thread(view->profile, *at, &lines->buf.now),
			   &lines->row);
}
