/* SPDX-License-Identifier: MIT */
/* rows.c - the rows of a view: in which order, the steps of a timeline, and CSV. */
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/view/view.h"

#include <errno.h>

/* ---- order ----------------------------------------------------------------------------- */

/* Clocks of different hosts have nothing in common: host by host, then by time. */
static int by_time(const void *a, const void *b, const void *arg)
{
	const struct pmc_p_row *x = **(struct pmc_p_row * *const *)a;
	const struct pmc_p_row *y = **(struct pmc_p_row * *const *)b;
	int diff = x->process == y->process ? 0 : strcmp(x->process->host, y->process->host);

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
	for (unsigned i = !samples; i < 3 && names[i]; i++) {
		const struct table_column *column = sort_column(view, groups, names[i]);

		if (!column)
			return -EINVAL;
		sort_lines_by(lines, column);
	}
	return 0;
}

/* How many lines a view shows: 0 is all. Of a tree pmc_sample_top() chooses them. */
static uint64_t limit(const struct pmc_view *view)
{
	int top = view->options->top;

	if (top >= 0)
		return (uint64_t)top;
	if (!pmc_format_is_table(view->options->format) || view->options->timeline)
		return 0;
	return 20;
}

int pmc_view_lines(struct pmc_view *view, bool groups, struct pmc_lines *lines)
{
	const struct pmc_report_options *options = view->options;
	const struct pmc_fold_row *group = view->groups.rows;
	const bool samples = groups && pmc_by_samples(view->by);
	uint64_t top = limit(view), n = samples ? view->samples.fold.n_rows :
					groups	? view->groups.n_rows :
						  view->n_rows;
	int err;

	*lines = (struct pmc_lines){ .view = view, .groups = groups, .n = n, .all = n };
	lines->list = pmc_arena_alloc(view->arena, 2 * (n + 1) * sizeof(*lines->list));
	for (uint64_t i = 0; i < n; i++) {
		lines->list[i] = samples ? (const void *)view->samples.fold.rows[i] :
				 groups	 ? (const void *)group :
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
	return err;
}

/* ---- CSV ------------------------------------------------------------------------------- */

int pmc_view_csv(struct pmc_view *view)
{
	const bool groups = view->by != PMC_BY_NONE;
	const struct pmc_profile *profile = view->profile;
	struct pmc_columns columns = groups ? view->of_groups : view->of_threads;
	struct pmc_lines lines;
	struct table table = { .arg = &lines, .row = pmc_line_row, .cell = pmc_line_cell };
	int err = view->options->columns ? pmc_columns_choose(view, &columns, &columns) : 0;

	if (!err)
		err = pmc_view_lines(view, groups, &lines);
	if (err)
		return err;
	table.columns = columns.list;
	table.n_columns = columns.n;
	table.n_rows = lines.all = lines.n;
	/* Uncore events are in no thread's row: processes that counted them have a row for it. */
	if (!groups && !view->options->timeline && !view->n_where)
		for (uint64_t i = 0; i < profile->n_processes; i++)
			table.n_rows += profile->processes[i]->machine.set != NULL;
	table_print(&table, TABLE_CSV, view->out);
	return 0;
}

/* ---- rows of lines ----------------------------------------------------------------------- */

/* One count of the step: not counted if the event was never on the PMU in it. */
static void count_step(struct pmc_count *step, const struct pmc_count *now,
		       const struct pmc_count *before)
{
	*step = *now;
	if (!pmc_count_has_value(now) || !before || !pmc_count_has_value(before))
		return;
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

/* Events of the OS have no clock of their own: they count while counting is on. */
static void time_os_events(struct pmc_p_thread *step, struct pmc_count *counts, uint64_t on_ns)
{
	for (unsigned i = 0; step->set && step->counts && i < step->set->count; i++)
		if (step->set->events[i].def.type == PMC_TYPE_OS && pmc_count_has_value(&counts[i]))
			counts[i].enabled_ns = counts[i].running_ns = on_ns;
}

/* Counting was off all the time. */
static void skip_step(struct pmc_p_thread *step, struct pmc_count *counts)
{
	step->fixed.flags |= PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE;
	for (unsigned i = 0; step->set && step->counts && i < step->set->count; i++)
		if (pmc_count_has_value(&counts[i]))
			counts[i] = (struct pmc_count){ .state = PMC_NOT_COUNTED,
							.error = PMC_REASON_NOT_STARTED };
}

/* The difference from the snapshot before of the same thread. The first step starts at its birth or
 * the last reset, so that the steps since then add up to the thread's row. */
void pmc_view_step(struct pmc_view *view, struct pmc_p_row *const *at, struct pmc_row_buf *buf,
		   struct pmc_row *row)
{
	const struct pmc_p_thread *now, *before = NULL;
	struct pmc_thread_fixed *fixed = &buf->step.fixed;
	uint64_t since, on_ns, dt_ns;

	now = pmc_profile_thread(view->profile, at[0], &buf->now);
	if (at > view->rows && at < view->rows + view->n_rows && pmc_same_thread(at[-1], at[0]))
		before = pmc_profile_thread(view->profile, at[-1], &buf->before);
	buf->step = *now;
	on_ns = pmc_thread_on_ns(fixed, fixed->time_ns);
	/* Values from before a reset are lost, so the step starts at the reset. */
	if (before && fixed->reset_ns > before->fixed.reset_ns)
		before = NULL;
	since = before		? before->fixed.time_ns :
		fixed->reset_ns ? fixed->reset_ns :
				  fixed->start_ns;
	if (now->set && now->counts) {
		for (unsigned i = 0; i < now->set->count; i++)
			count_step(&buf->counts[i], &now->counts[i], count_before(before, now, i));
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
		/* A difference needs both ends. */
		fixed->flags |= was->flags & (PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE);
	}
	/* The start of an adopted thread is not known. */
	dt_ns = since ? pmc_sub_sat(fixed->time_ns, since) : 0;
	if (before && !before->fixed.start_ns)
		on_ns = dt_ns;
	time_os_events(&buf->step, buf->counts, on_ns);
	pmc_row_of(view, &buf->step, row);
	row->step = true;
	row->t_ns = fixed->time_ns;
	row->dt_ns = dt_ns;
	row->on_ns = on_ns;
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
	else if (lines->groups)
		lines->row = (struct pmc_row){ .sums = lines->list[i] };
	else if (view->options->timeline)
		pmc_view_step(view, at, &lines->buf, &lines->row);
	else
		pmc_row_of(view, pmc_profile_thread(view->profile, *at, &lines->buf.now),
			   &lines->row);
}

struct table_cell pmc_line_cell(void *arg, const struct table_column *column)
{
	struct pmc_lines *lines = arg;

	return pmc_cell(lines->view, column, &lines->row);
}
