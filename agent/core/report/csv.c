/* SPDX-License-Identifier: MIT */
/* csv.c - rows as CSV after RFC 4180 (lines end in LF); a cell without a value is empty. */
#include "agent/core/base/utf8.h"
#include "agent/core/report/view.h"

#include <errno.h>

/* Text that needs neither quotes nor escapes. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f || text[i] == ',' || text[i] == '"')
			return false;
	return true;
}

static void put_text(struct pmc_out *out, const char *text, size_t len)
{
	bool quote;
	size_t from = 0;

	if (is_plain(text, len)) {
		pmc_out_bytes(out, text, len);
		return;
	}
	quote = memchr(text, ',', len) || memchr(text, '"', len) || text[0] == ' ' ||
		text[len - 1] == ' ';
	if (!quote) {
		pmc_utf8_safe(out, text, len, 0);
		return;
	}
	/* Line breaks come out escaped: only quotes have to be doubled. */
	pmc_out_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '"')
			continue;
		pmc_utf8_safe(out, text + from, i + 1 - from, 0);
		pmc_out_char(out, '"');
		from = i + 1;
	}
	pmc_utf8_safe(out, text + from, len - from, 0);
	pmc_out_char(out, '"');
}

void pmc_csv_cell(struct pmc_out *out, const struct pmc_cell *cell)
{
	switch (cell->kind) {
	case PMC_CELL_NULL:
		break;
	case PMC_CELL_NUMBER:
		pmc_out_u64(out, cell->number);
		break;
	case PMC_CELL_REAL:
		pmc_out_fixed(out, cell->real, cell->decimals);
		break;
	default:
		put_text(out, cell->text, cell->len);
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
		put_text(view->out, buf, name.len);
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
		pmc_csv_cell(out, &cell);
	}
	pmc_out_char(out, '\n');
}

static int csv_groups(struct pmc_view *view, const struct pmc_columns *columns)
{
	const struct pmc_fold_row **groups;
	uint64_t n;
	int err = pmc_view_groups(view, pmc_view_top(view), &groups, &n, NULL);

	if (!err)
		put_head(view, columns);
	for (uint64_t i = 0; !err && i < n; i++)
		put_row(view, columns, &(struct pmc_row){ .sums = groups[i] });
	return err;
}

static int csv_steps(struct pmc_view *view, const struct pmc_columns *columns)
{
	struct pmc_step_buf buf;
	struct pmc_step *steps;
	struct pmc_row row;
	int err = pmc_view_steps(view, &steps);

	if (!err)
		put_head(view, columns);
	for (uint64_t i = 0; !err && i < view->n_rows; i++) {
		pmc_step_row(view, &steps[i], &buf, &row);
		put_row(view, columns, &row);
	}
	return err;
}

static int csv_threads(struct pmc_view *view, const struct pmc_columns *columns)
{
	struct pmc_p_row **rows = view->rows;
	uint64_t n = view->n_rows, top = pmc_view_top(view);
	struct pmc_thread_buf buf;
	struct pmc_row row;
	int err = 0;

	if (view->options->sort || top)
		err = pmc_view_threads(view, top, &rows, &n, NULL);
	if (!err)
		put_head(view, columns);
	for (uint64_t i = 0; !err && i < n && !view->options->summary; i++) {
		pmc_row_of(view, pmc_profile_thread(view->profile, rows[i], &buf), &row);
		put_row(view, columns, &row);
	}
	if (!err && !view->options->n_where)
		pmc_view_machine_csv(view, columns);
	return err;
}

int pmc_view_csv(struct pmc_view *view)
{
	bool groups = view->by != PMC_BY_NONE && !view->options->timeline;
	const struct pmc_columns *all = groups ? &view->of_groups : &view->of_threads;
	struct pmc_columns columns;
	uint64_t n = 0;
	int err;

	if (view->options->columns) {
		err = pmc_columns_choose(view, all, &columns);
		if (err)
			return err;
	} else {
		columns.list = pmc_arena_alloc(view->arena, all->n * sizeof(*columns.list));
		if (!columns.list)
			return -ENOMEM;
		for (unsigned i = 0; i < all->n; i++)
			if (all->list[i].csv)
				columns.list[n++] = all->list[i];
		columns.n = (unsigned)n;
	}
	if (groups)
		return csv_groups(view, &columns);
	return view->options->timeline ? csv_steps(view, &columns) : csv_threads(view, &columns);
}
