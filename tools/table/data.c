/* SPDX-License-Identifier: MIT */
/*
 * data.c - rows for programs: CSV after RFC 4180 (lines end in LF; a cell without a value is empty;
 * text that a spreadsheet would take as a formula is guarded by an apostrophe), JSON, and cells
 * with their texts for pages that draw a table.
 */
#include "lib/base/utf8.h"
#include "lib/base/json.h"
#include "tools/table/private.h"

/* ---- CSV ---------------------------------------------------------------------------------- */

void table_put_csv(struct pmc_out *out, const struct table_cell *cell)
{
	if (!table_put_number(out, cell) && cell->kind != CELL_NULL)
		pmc_csv_text(out, cell->text, cell->len);
}

/* The next column of CSV and JSON from *i on; NULL: there is none. */
static const struct table_column *next_data(const struct table *table, unsigned *i)
{
	while (*i < table->n_columns) {
		const struct table_column *column = &table->columns[(*i)++];

		if (column->unit != TABLE_BAR && !column->hidden)
			return column;
	}
	return NULL;
}

static size_t full_name(const struct table_column *column, char *buf, size_t cap)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, cap);
	pmc_outf(&out, "%s%s", column->name, column->suffix ? column->suffix : "");
	return out.len;
}

void table_csv_head(const struct table *table, struct pmc_out *out)
{
	const struct table_column *column;
	const char *comma = "";
	char buf[512];

	for (unsigned i = 0; (column = next_data(table, &i)); comma = ",") {
		pmc_out_str(out, comma);
		pmc_csv_text(out, buf, full_name(column, buf, sizeof(buf)));
	}
	pmc_out_char(out, '\n');
}

void table_csv_row(const struct table *table, uint64_t row, struct pmc_out *out)
{
	const struct table_column *column;
	bool first = true;

	table_row(table, row);
	for (unsigned i = 0; (column = next_data(table, &i)); first = false) {
		const struct table_cell cell = table->cell(table->arg, column);

		if (!first)
			pmc_out_char(out, ',');
		table_put_csv(out, &cell);
	}
	pmc_out_char(out, '\n');
}

/* ---- JSON --------------------------------------------------------------------------------- */

void table_put_json(struct pmc_out *out, const struct table_cell *cell)
{
	if (cell->kind == CELL_NULL)
		pmc_out_str(out, "null");
	else if (cell->kind == CELL_TEXT)
		pmc_json_quoted(out, cell->text, cell->len);
	else if (!table_put_number(out, cell))
		pmc_out_bytes(out, cell->text, cell->len);
}

void table_print_json(const struct table *table, bool array, struct pmc_out *out)
{
	pmc_out_str(out, array ? "[" : "");
	for (uint64_t r = 0; r < table->n_rows; r++) {
		const struct table_column *column;
		const char *comma = "";
		char buf[512];

		table_row(table, r);
		pmc_out_str(out, !array ? "{" : r ? ",\n{" : "\n{");
		for (unsigned i = 0; (column = next_data(table, &i)); comma = ",") {
			const struct table_cell cell = table->cell(table->arg, column);

			pmc_out_str(out, comma);
			pmc_json_quoted(out, buf, full_name(column, buf, sizeof(buf)));
			pmc_out_char(out, ':');
			table_put_json(out, &cell);
		}
		pmc_out_str(out, array ? "}" : "}\n");
	}
	pmc_out_str(out, !array ? "" : table->n_rows ? "\n]\n" : "]\n");
}

/* ---- pages --------------------------------------------------------------------------------- */

void table_page_columns(const struct table *table, struct pmc_json *json)
{
	pmc_json_array(json, "columns");
	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];
		char name[512];

		if (place->column->unit == TABLE_BAR)
			continue;
		pmc_json_line(json);
		pmc_json_object(json, NULL);
		pmc_json_strn(json, "name", name, full_name(place->column, name, sizeof(name)));
		pmc_json_str(json, "head", place->head);
		pmc_json_bool(json, "text", place->left);
		/* Minimum, mean, maximum and deviation of the rows of a group. */
		pmc_json_bool(json, "spread", place->column->drop == TABLE_DROP_SPREAD);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

/* The text of the cell, and for sorting the number behind it. */
static void page_cell(const struct table_place *place, const struct table_cell *cell,
		      struct pmc_json *json)
{
	char buf[64];
	struct pmc_out text;

	if (cell->kind == CELL_NULL) {
		pmc_json_str(json, NULL, place->column->blank ? "" : NULL);
		return;
	}
	if (cell->kind == CELL_TEXT || cell->kind == CELL_JSON) {
		pmc_json_strn(json, NULL, cell->text, cell->len);
		return;
	}
	pmc_out_to_mem(&text, buf, sizeof(buf));
	table_show(place, cell, &text);
	if (cell->partial)
		pmc_out_char(&text, '+');
	pmc_json_array(json, NULL);
	if (cell->kind == CELL_NUMBER)
		pmc_json_u64(json, NULL, cell->number);
	else
		pmc_json_double(json, NULL, cell->real);
	pmc_json_strn(json, NULL, buf, text.len);
	pmc_json_array_end(json);
}

void table_page_rows(const struct table *table, struct pmc_json *json, const char *key,
		     uint64_t from, uint64_t to)
{
	pmc_json_array(json, key);
	for (uint64_t r = from; r < to; r++) {
		table_row(table, r);
		pmc_json_line(json);
		pmc_json_array(json, NULL);
		for (unsigned i = 0; i < table->n; i++) {
			const struct table_place *place = &table->places[i];
			const struct table_cell cell = table->cell(table->arg, place->column);

			if (place->column->unit != TABLE_BAR)
				page_cell(place, &cell, json);
		}
		pmc_json_array_end(json);
	}
	pmc_json_array_end(json);
}
