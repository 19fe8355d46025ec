/* SPDX-License-Identifier: MIT */
/* table_cells.c - rows and cells of a table of threads, sums or samples, and what is printed. */
#include "lib/base/utf8.h"
#include "tools/view/table.h"

#include <errno.h>

/* ---- rows and cells ----------------------------------------------------------------------- */

static void make_row(void *arg, uint64_t i)
{
	struct pmc_table *table = arg;

	table->at = i;
	if (i < table->lines.n)
		pmc_line_row(&table->lines, i);
	else if (table->rest)
		table->lines.row = (struct pmc_row){ .sample = table->rest };
	else
		table->lines.row = (struct pmc_row){ .sums = table->below[i - table->lines.n] };
}

/* Unattributed work or that of descendants. */
static bool is_beside(const struct pmc_table *table, const struct pmc_row *row)
{
	return row->sums && (row->sums == &table->coverage->unattributed ||
			     row->sums == &table->coverage->descendants);
}

static bool is_spread(const struct table_column *column)
{
	return (column->kind == PMC_COL_CPU || column->kind == PMC_COL_EVENT) &&
	       column->part >= PMC_PART_MIN && column->part <= PMC_PART_STDDEV;
}

/* Percent of all CPU time, for the bar; 0 for rows that have none. */
static double share_of(struct pmc_table *table, const struct pmc_row *row)
{
	static const struct table_column share = { .kind = PMC_COL_FIELD,
						   .index = PMC_FIELD_share };
	struct table_cell cell;

	if (row->sample)
		return row->sample == table->rest ? 0 : pmc_sample_share(table->view, row->sample);
	if (is_beside(table, row) || row->sums == table->all)
		return 0;
	cell = pmc_cell(table->view, &share, row);
	return cell.kind == CELL_REAL ? cell.real : 0;
}

static struct table_cell cell_of(void *arg, const struct table_column *column)
{
	struct pmc_table *table = arg;
	const struct pmc_row *row = &table->lines.row;

	if (column->unit == TABLE_BAR)
		return cell_real(share_of(table, row), TABLE_DECIMALS);
	if (row->sample && row->sample == table->rest)
		return pmc_sample_rest(table, column);
	if (row->sums && !row->sums->groups && column == table->labels)
		return cell_text(row->sums->label);
	if (table->branches && pmc_is_sample_key(table->view, column))
		return pmc_table_branch(table);
	/* A ratio of two small differences is noise. */
	if ((is_spread(column) && row->sums->threads < 2) ||
	    (column->kind == PMC_COL_METRIC && row->sums == &table->coverage->unattributed))
		return cell_null();
	return pmc_cell(table->view, column, row);
}

/* Without a line between them a root would look like a callee of the last line of the tree above:
 * an only callee stands in its caller's column. */
static struct table_line line_of(void *arg)
{
	const struct pmc_table *table = arg;
	const uint64_t i = table->at;
	const bool root =
		table->branches && (i >= table->lines.n ||
				    !((const struct pmc_sample_row *)table->lines.list[i])->depth);

	return (struct table_line){ .dim = is_beside(table, &table->lines.row), .gap = i && root };
}

void pmc_table_layout(struct pmc_table *table)
{
	table->print = (struct table){
		.columns = table->columns,
		.n_columns = table->n,
		.n_rows = table->lines.n + table->n_below,
		.arg = table,
		.row = make_row,
		.cell = cell_of,
		.line = line_of,
		.screen = table->view->options->screen,
		.arena = table->view->arena,
		.wide = table->view->options->wide,
		.indent = 2,
	};
	table_layout(&table->print);
}

/* ---- what is printed ----------------------------------------------------------------------- */

/* Sums whose labels no column has. */
static const char *unnamed_sums(struct pmc_table *table)
{
	char buf[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	for (unsigned i = 0; !table->labels && i < table->n_below; i++)
		pmc_outf(&out, "%s%s", i ? ", " : "",
			 table->rest ? table->rest->function : table->below[i]->label);
	return pmc_arena_strndup(table->view->arena, buf, out.len);
}

static void note_marks(struct pmc_table *table, struct pmc_footer *footer)
{
	footer->partial = table->print.has_partial;
	footer->estimate = table->print.has_estimate;
	for (unsigned i = 0; i < table->print.n; i++) {
		const struct table_column *column = table->print.places[i].column;

		footer->scaled |= column->kind == PMC_COL_FIELD && column->index == PMC_FIELD_ran;
	}
	footer->hidden = table->print.hidden;
	footer->sums = unnamed_sums(table);
}

static void put_markdown_note(void *arg, const char *text, size_t len)
{
	struct pmc_out *out = arg;

	pmc_out_str(out, "- ");
	table_put_markdown(out, text + 1, len - 1);
	pmc_out_char(out, '\n');
}

static void put_json_note(void *arg, const char *text, size_t len)
{
	pmc_json_strn(arg, NULL, text + 1, len - 1);
}

/* Title, columns, cells and footer as a JSON object. */
static void put_json(struct pmc_table *table, struct pmc_footer *footer, const char *figures)
{
	const uint64_t n = table->lines.n;
	struct pmc_view *view = table->view;
	char runs[48];
	struct pmc_json json;

	pmc_json_init(&json, view->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "command", pmc_table_command(view, table->coverage, runs));
	pmc_json_str(&json, "figures", figures);
	pmc_json_u64(&json, "all", table->lines.all);
	table_page_columns(&table->print, &json);
	table_page_rows(&table->print, &json, "rows", 0, n);
	table_page_rows(&table->print, &json, "sums", n, n + table->n_below);
	pmc_json_array(&json, "notes");
	pmc_view_footer(view, footer, put_json_note, &json);
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
}

static void put_markdown(struct pmc_table *table, const struct pmc_footer *footer,
			 const char *figures)
{
	struct pmc_view *view = table->view;
	char buf[512], runs[48];
	struct pmc_out text;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	table_say(&text, &(struct pmc_screen){ .width = 110, .ascii = view->options->screen.ascii },
		  "%100S", pmc_table_command(view, table->coverage, runs));
	pmc_out_str(view->out, "**");
	table_put_markdown(view->out, buf, text.len);
	pmc_outf(view->out, "**: %s\n\n", figures);
	table_print(&table->print, TABLE_MARKDOWN, view->out);
	pmc_out_char(view->out, '\n');
	pmc_view_footer(view, footer, put_markdown_note, view->out);
}

void pmc_table_put(struct pmc_table *table, struct pmc_footer *footer)
{
	struct pmc_view *view = table->view;
	char buf[200];
	struct pmc_out text;

	pmc_out_to_mem(&text, buf, sizeof(buf));
	pmc_table_figures(view, table->coverage, &text);
	note_marks(table, footer);
	if (view->options->cells) {
		put_json(table, footer, buf);
	} else if (view->options->format == PMC_FORMAT_MARKDOWN) {
		put_markdown(table, footer, buf);
	} else {
		if (!pmc_by_samples(view->by))
			pmc_table_title(view, table->coverage);
		table_print(&table->print, TABLE_PLAIN, view->out);
		pmc_out_char(view->out, '\n');
		pmc_view_footer(view, footer, pmc_view_put_line, view);
	}
}
