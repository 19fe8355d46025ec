/* SPDX-License-Identifier: MIT */
/*
 * table_cells.c - prints the head and the lines of a table; or as JSON, for pages that draw it,
 * with the values of the cells.
 */
#include "lib/base/utf8.h"
#include "tools/view/table.h"

#include <errno.h>

void pmc_table_row(struct pmc_table *table, uint64_t i, struct pmc_row *row)
{
	table->at = i;
	if (i < table->lines.n)
		pmc_view_row(table->view, &table->lines, i, &table->buf, row);
	else if (table->rest)
		*row = (struct pmc_row){ .sample = table->rest };
	else
		*row = (struct pmc_row){ .sums = table->below[i - table->lines.n] };
}

/* Unattributed work or that of descendants. */
static bool is_beside(const struct pmc_table *table, const struct pmc_row *row)
{
	return row->sums && (row->sums == &table->coverage->unattributed ||
			     row->sums == &table->coverage->descendants);
}

static bool is_spread(const struct pmc_column *column)
{
	return (column->kind == PMC_COL_CPU || column->kind == PMC_COL_EVENT) &&
	       column->part >= PMC_PART_MIN && column->part <= PMC_PART_STDDEV;
}

struct pmc_cell pmc_table_cell(struct pmc_table *table, const struct pmc_column *column,
			       const struct pmc_row *row)
{
	if (row->sample && row->sample == table->rest)
		return pmc_sample_rest(table, column);
	if (row->sums && column == table->labels)
		return (struct pmc_cell){ .kind = PMC_CELL_TEXT,
					  .text = row->sums->label,
					  .len = strlen(row->sums->label) };
	if (table->branches && pmc_is_sample_key(column))
		return pmc_table_branch(table);
	if (is_spread(column) && row->sums->threads < 2)
		return (struct pmc_cell){ .kind = PMC_CELL_NULL };
	/* A ratio of two small differences is noise. */
	if (column->kind == PMC_COL_METRIC && row->sums == &table->coverage->unattributed)
		return (struct pmc_cell){ .kind = PMC_CELL_NULL };
	return pmc_cell(table->view, column, row);
}

/* Digits before the point in groups of three, as in 4,358. */
void pmc_table_number(const struct pmc_table_column *column, const struct pmc_cell *cell,
		      struct pmc_out *out)
{
	double value = cell->kind == PMC_CELL_NUMBER ? (double)cell->number : cell->real;
	enum pmc_unit unit = column->column->unit;

	if (unit == ID) {
		pmc_out_u64(out, cell->number);
		return;
	}
	if (unit == WHOLE) {
		pmc_show_integer(out, cell->number);
		return;
	}
	if (unit == PERCENT)
		pmc_show_percent(out, value);
	else
		pmc_show_scaled(out, &column->scale, value);
}

double pmc_table_share(struct pmc_table *table, const struct pmc_row *row)
{
	static const struct pmc_column share = { .kind = PMC_COL_FIELD, .index = PMC_FIELD_share };
	struct pmc_cell cell;

	if (row->sample)
		return row->sample == table->rest ? 0 : pmc_sample_share(table->view, row->sample);
	if (is_beside(table, row) || row->sums == table->all)
		return 0;
	cell = pmc_cell(table->view, &share, row);
	return cell.kind == PMC_CELL_REAL ? cell.real : 0;
}

static void put_blanks(struct pmc_table *table, int n)
{
	table->blanks += n > 0 ? n : 0;
}

/* Where the next text of the line goes. */
static struct pmc_out *out_behind_blanks(struct pmc_table *table)
{
	pmc_out_pad(table->view->out, ' ', table->blanks);
	table->blanks = 0;
	return table->view->out;
}

static void end_line(struct pmc_table *table, const char *end)
{
	table->blanks = 0;
	pmc_out_str(table->view->out, end);
}

/* In halves of a column, relative to the longest; returns the width. */
static int put_bar(struct pmc_table *table, const struct pmc_row *row)
{
	double share = pmc_table_share(table, row) / table->longest;
	uint64_t halves =
		share < 1 ? pmc_nearest_integer(PMC_BAR_WIDTH * 2 * share) : PMC_BAR_WIDTH * 2;
	int width = 0;

	for (; halves >= 2; halves -= 2, width++)
		pmc_out_str(out_behind_blanks(table), "█");
	if (halves) {
		pmc_out_str(out_behind_blanks(table), "▌");
		width++;
	}
	return width;
}

static void put_text(struct pmc_table *table, const struct pmc_table_column *column,
		     const struct pmc_cell *cell)
{
	const bool sample = column->column->kind == PMC_COL_SAMPLE;
	const bool tree = table->branches && pmc_is_sample_key(column->column);
	/* The end of a path, which distinguishes files best, is kept. */
	bool path = !sample && memchr(cell->text, '/', cell->len) != NULL;
	bool glyphs = table->view->options->screen.ascii;
	int width = 0;

	if (cell->len)
		width = pmc_utf8_fit(out_behind_blanks(table), cell->text, cell->len, column->width,
				     path ? PMC_CUT_LEFT :
				     tree ? PMC_CUT_END :
					    PMC_CUT_MIDDLE,
				     glyphs);
	put_blanks(table, column->width - width);
}

bool pmc_table_is_blank(const struct pmc_table_column *column)
{
	return is_spread(column->column) || column->column->unit <= WHOLE;
}

static void put_cell(struct pmc_table *table, const struct pmc_table_column *column,
		     const struct pmc_row *row)
{
	struct pmc_cell cell = pmc_table_cell(table, column->column, row);
	struct pmc_out number;
	char buf[64];

	if (column->left && cell.kind != PMC_CELL_NULL) {
		put_text(table, column, &cell);
		return;
	}
	pmc_out_to_mem(&number, buf, sizeof(buf));
	if (cell.kind != PMC_CELL_NULL) {
		if (cell.estimate)
			pmc_out_char(&number, '~');
		pmc_table_number(column, &cell, &number);
	} else if (!pmc_table_is_blank(column)) {
		pmc_out_char(&number, '-');
	}
	put_blanks(table, column->width - (int)number.len - column->partial);
	if (number.len)
		pmc_out_bytes(out_behind_blanks(table), buf, number.len);
	if (column->partial && cell.partial)
		pmc_out_char(out_behind_blanks(table), '+');
	else
		put_blanks(table, column->partial);
}

static void put_head(struct pmc_table *table)
{
	bool first = true;

	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];
		int pad = column->width - pmc_utf8_columns(column->head, strlen(column->head));

		if (column->hidden)
			continue;
		put_blanks(table, first ? 2 : table->gap);
		first = false;
		if (!column->left)
			put_blanks(table, pad - column->partial);
		if (column->head[0])
			pmc_out_str(out_behind_blanks(table), column->head);
		put_blanks(table, column->left ? pad : column->partial);
	}
	end_line(table, "\n");
}

static void put_line(struct pmc_table *table, uint64_t line)
{
	struct pmc_out *out = table->view->out;
	bool dim, first = true;
	struct pmc_row row;

	pmc_table_row(table, line, &row);
	dim = is_beside(table, &row) && table->view->options->screen.color;
	if (dim)
		pmc_out_str(out, "\x1b[2m");
	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];

		if (column->hidden)
			continue;
		put_blanks(table, first ? 2 : table->gap);
		first = false;
		if (column->column)
			put_cell(table, column, &row);
		else
			put_blanks(table, column->width - put_bar(table, &row));
	}
	end_line(table, dim ? "\x1b[0m\n" : "\n");
}

/* Names of the columns that did not fit. */
static void name_hidden(struct pmc_table *table, struct pmc_footer *footer)
{
	char buf[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];
		const struct pmc_column *of = column->column;
		const char *name = !of ? "" : of->head ? of->head : of->name;

		if (!column->hidden || !of)
			continue;
		pmc_out_str(&out, out.len ? ", " : "");
		pmc_utf8_fit(&out, name, strlen(name), 32, PMC_CUT_MIDDLE,
			     table->view->options->screen.ascii);
	}
	footer->hidden = pmc_arena_strndup(table->view->arena, buf, out.len);
}

/* Sums whose labels no column has. */
static void name_sums(struct pmc_table *table, struct pmc_footer *footer)
{
	char buf[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	for (unsigned i = 0; !table->labels && i < table->n_below; i++)
		pmc_outf(&out, "%s%s", i ? ", " : "",
			 table->rest ? table->rest->function : table->below[i]->label);
	footer->sums = pmc_arena_strndup(table->view->arena, buf, out.len);
}

void pmc_footer_sums(struct pmc_view *view, const struct pmc_footer *footer)
{
	if (!footer->sums || !footer->sums[0])
		return;
	pmc_outf(view->out, " last rows: %s", footer->sums);
	pmc_footer_end_line(view);
}

/* Without a line between them a root would look like a callee of the last line of the tree above:
 * an only callee stands in its caller's column. */
static bool starts_tree(const struct pmc_table *table, uint64_t i)
{
	if (!table->branches)
		return false;
	return i >= table->lines.n || !((const struct pmc_sample_row *)table->lines.list[i])->depth;
}

void pmc_table_print(struct pmc_table *table, struct pmc_footer *footer)
{
	put_head(table);
	for (uint64_t i = 0; i < table->lines.n + table->n_below; i++) {
		if (i && starts_tree(table, i))
			pmc_out_char(table->view->out, '\n');
		put_line(table, i);
	}
	pmc_table_marks(table, footer);
}

void pmc_table_marks(struct pmc_table *table, struct pmc_footer *footer)
{
	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];

		footer->partial |= column->partial && !column->hidden;
		footer->estimate |= column->estimate && !column->hidden;
		footer->scaled |= column->column && column->column->kind == PMC_COL_FIELD &&
				  column->column->index == PMC_FIELD_ran;
	}
	name_hidden(table, footer);
	name_sums(table, footer);
}

/* ---- as JSON ----------------------------------------------------------------------------- */

enum { FOOTER_CAP = 1 << 18 };

/* What stands in the cell, and for sorting the number behind it. */
static void json_number(struct pmc_json *json, const struct pmc_table_column *column,
			const struct pmc_cell *cell)
{
	char buf[64];
	struct pmc_out text;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	if (cell->estimate)
		pmc_out_char(&text, '~');
	pmc_table_number(column, cell, &text);
	if (column->partial && cell->partial)
		pmc_out_char(&text, '+');
	pmc_json_array(json, NULL);
	if (cell->kind == PMC_CELL_NUMBER)
		pmc_json_u64(json, NULL, cell->number);
	else
		pmc_json_double(json, NULL, cell->real);
	pmc_json_strn(json, NULL, buf, text.len);
	pmc_json_array_end(json);
}

static void json_cell(struct pmc_table *table, struct pmc_json *json,
		      const struct pmc_table_column *column, const struct pmc_row *row)
{
	const struct pmc_cell cell = pmc_table_cell(table, column->column, row);

	if (cell.kind == PMC_CELL_NULL)
		pmc_json_str(json, NULL, pmc_table_is_blank(column) ? "" : NULL);
	else if (cell.kind == PMC_CELL_TEXT || cell.kind == PMC_CELL_BOOL)
		pmc_json_strn(json, NULL, cell.text, cell.len);
	else
		json_number(json, column, &cell);
}

static void json_columns(const struct pmc_table *table, struct pmc_json *json)
{
	pmc_json_array(json, "columns");
	for (unsigned i = 0; i < table->n; i++) {
		const struct pmc_table_column *column = &table->columns[i];
		const struct pmc_column *of = column->column;
		char name[512];
		struct pmc_out text;

		if (!of)
			continue;
		pmc_out_to_mem(&text, name, sizeof(name));
		pmc_outf(&text, "%.400s%s", of->name, of->suffix);
		pmc_json_line(json);
		pmc_json_object(json, NULL);
		pmc_json_strn(json, "name", name, text.len);
		pmc_json_str(json, "head", column->head);
		pmc_json_bool(json, "text", column->left);
		/* Minimum, mean, maximum and deviation of the rows of a group. */
		pmc_json_bool(json, "spread", column->drop == DROP_SPREAD);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

static void json_lines(struct pmc_table *table, struct pmc_json *json, const char *key,
		       uint64_t from, uint64_t to)
{
	struct pmc_row row;

	pmc_json_array(json, key);
	for (uint64_t i = from; i < to; i++) {
		pmc_table_row(table, i, &row);
		pmc_json_line(json);
		pmc_json_array(json, NULL);
		for (unsigned c = 0; c < table->n; c++)
			if (table->columns[c].column)
				json_cell(table, json, &table->columns[c], &row);
		pmc_json_array_end(json);
	}
	pmc_json_array_end(json);
}

/* Lines of the footer begin with a space; one that goes on is indented further. */
static int json_footer(struct pmc_view *view, struct pmc_json *json,
		       const struct pmc_footer *footer)
{
	char *buf = pmc_arena_alloc(view->arena, FOOTER_CAP);
	struct pmc_out text, *out = view->out;
	size_t at = 0;

	if (!buf)
		return -ENOMEM;
	pmc_out_to_mem(&text, buf, FOOTER_CAP);
	view->out = &text;
	pmc_view_footer(view, footer);
	view->out = out;
	pmc_json_array(json, "notes");
	while (at < text.len) {
		const size_t len = strcspn(buf + at, "\n"), blanks = strspn(buf + at, " ");

		if (len > blanks)
			pmc_json_strn(json, NULL, buf + at + blanks, len - blanks);
		at += len + 1;
	}
	pmc_json_array_end(json);
	return view->arena->failed ? -ENOMEM : 0;
}

int pmc_table_json(struct pmc_table *table, struct pmc_footer *footer)
{
	struct pmc_view *view = table->view;
	char buf[200], runs[48];
	struct pmc_json json;
	struct pmc_out text;
	int err;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	pmc_table_figures(view, table->coverage, &text);
	pmc_json_init(&json, view->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "command", pmc_table_command(view, table->coverage, runs));
	pmc_json_str(&json, "figures", buf);
	pmc_json_u64(&json, "all", table->lines.all);
	json_columns(table, &json);
	json_lines(table, &json, "rows", 0, table->lines.n);
	json_lines(table, &json, "sums", table->lines.n, table->lines.n + table->n_below);
	pmc_table_marks(table, footer);
	err = json_footer(view, &json, footer);
	pmc_json_object_end(&json);
	return err;
}
