/* SPDX-License-Identifier: MIT */
/* csv.c - rows as CSV: all, or those of a group or samples. */
#include "tools/view/view.h"

#include <errno.h>

struct csv {
	struct pmc_view *view;
	struct pmc_lines lines;
	struct pmc_row_buf buf;
	struct pmc_p_thread machine;
	struct pmc_row row;
};

/* Uncore events are in no thread's row: each process that counted them has a row of its own. */
static void machine_row(struct csv *csv, uint64_t i)
{
	const struct pmc_profile *profile = csv->view->profile;
	struct pmc_p_process *const *process = profile->processes;

	while (!(*process)->machine.set || i--)
		process++;
	csv->machine = (struct pmc_p_thread){
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
	pmc_row_of(csv->view, &csv->machine, &csv->row);
}

static void make_row(void *arg, uint64_t i)
{
	struct csv *csv = arg;

	if (i < csv->lines.n)
		pmc_view_row(csv->view, &csv->lines, i, &csv->buf, &csv->row);
	else
		machine_row(csv, i - csv->lines.n);
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct csv *csv = arg;

	return pmc_cell(csv->view, column, &csv->row);
}

static uint64_t machine_rows(const struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	uint64_t n = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++)
		n += profile->processes[i]->machine.set != NULL;
	return n;
}

int pmc_view_csv(struct pmc_view *view)
{
	const bool groups = view->by != PMC_BY_NONE;
	struct pmc_columns columns = groups ? view->of_groups : view->of_threads;
	struct csv csv = { .view = view };
	struct table table = { .arg = &csv, .row = make_row, .cell = cell_of };
	int err = view->options->columns ? pmc_columns_choose(view, &columns, &columns) : 0;

	if (!err)
		err = pmc_view_lines(view, groups, &csv.lines);
	if (err)
		return err;
	table.columns = columns.list;
	table.n_columns = columns.n;
	table.n_rows = csv.lines.n;
	if (!groups && !view->options->timeline && !view->n_where)
		table.n_rows += machine_rows(view);
	table_print(&table, TABLE_CSV, view->out);
	return 0;
}
