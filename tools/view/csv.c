/* SPDX-License-Identifier: MIT */
/*
 * csv.c - rows as CSV after RFC 4180 (lines end in LF); a cell without a value is empty. Text that
 * a spreadsheet would take as a formula is guarded by an apostrophe.
 */
#include "lib/base/csv.h"
#include "lib/base/utf8.h"
#include "tools/view/view.h"
#include "lib/dump/words.h"

#include <errno.h>

static void put_cell(struct pmc_out *out, const struct pmc_cell *cell)
{
	switch (cell->kind) {
	case PMC_CELL_NULL:
		break;
	case PMC_CELL_NUMBER:
		pmc_out_u64(out, cell->number);
		break;
	case PMC_CELL_REAL:
		if (pmc_out_fixed_fits(cell->real))
			pmc_out_fixed(out, cell->real, cell->decimals);
		break;
	default:
		pmc_csv_text(out, cell->text, cell->len);
		break;
	}
}

static void put_head(struct pmc_view *view, const struct pmc_columns *columns)
{
	for (unsigned i = 0; i < columns->n; i++) {
		char buf[512];
		struct pmc_out name;

		pmc_out_to_mem(&name, buf, sizeof(buf));
		pmc_out_str(&name, columns->list[i].name);
		pmc_out_str(&name, columns->list[i].suffix);
		if (i)
			pmc_out_char(view->out, ',');
		pmc_csv_text(view->out, buf, name.len);
	}
	pmc_out_char(view->out, '\n');
}

static void put_row(struct pmc_view *view, const struct pmc_columns *columns,
		    const struct pmc_row *row)
{
	struct pmc_out *out = view->out;

	for (unsigned i = 0; i < columns->n; i++) {
		struct pmc_cell cell = pmc_cell(view, &columns->list[i], row);

		if (i)
			pmc_out_char(out, ',');
		put_cell(out, &cell);
	}
	pmc_out_char(out, '\n');
}

/* Uncore events are in no thread's row: each process that counted them has a row of its own. */
static void put_machine(struct pmc_view *view, const struct pmc_columns *columns,
			const struct pmc_p_process *process)
{
	const struct pmc_p_thread machine = {
		.process = (struct pmc_p_process *)process,
		.set = process->machine.set,
		.counts = process->machine.counts,
		.module = "",
		.symbol = "",
		.fixed = { .name = "(machine)",
			   .created_by = PMC_NO_SEQ,
			   .flags = PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE,
			   .start_ns = process->fixed.start_ns,
			   .end_ns = process->fixed.end_ns },
	};
	struct pmc_row row;

	pmc_row_of(view, &machine, &row);
	put_row(view, columns, &row);
}

static int choose_columns(struct pmc_view *view, bool groups, struct pmc_columns *columns)
{
	const struct pmc_columns *all = groups ? &view->of_groups : &view->of_threads;

	if (view->options->columns)
		return pmc_columns_choose(view, all, columns);
	columns->n = 0;
	columns->list = pmc_arena_alloc(view->arena, all->n * sizeof(*columns->list));
	for (unsigned i = 0; columns->list && i < all->n; i++)
		if (all->list[i].csv)
			columns->list[columns->n++] = all->list[i];
	return columns->list ? 0 : -ENOMEM;
}

int pmc_view_csv(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	bool groups = view->by != PMC_BY_NONE;
	struct pmc_columns columns;
	struct pmc_lines lines;
	struct pmc_row_buf buf;
	struct pmc_row row;
	int err = choose_columns(view, groups, &columns);

	if (!err)
		err = pmc_view_lines(view, groups, &lines);
	if (err)
		return err;
	put_head(view, &columns);
	for (uint64_t i = 0; i < lines.n; i++) {
		pmc_view_row(view, &lines, i, &buf, &row);
		put_row(view, &columns, &row);
	}
	if (groups || view->options->timeline || view->n_where)
		return 0;
	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (profile->processes[i]->machine.set)
			put_machine(view, &columns, profile->processes[i]);
	return 0;
}
