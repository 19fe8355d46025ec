/* SPDX-License-Identifier: MIT */
/* private.h - what the files of tools/table share. Private to this folder. */
#pragma once

#include "tools/table/table.h"

enum { BAR_WIDTH = 6 };

static inline const char *table_head(const struct table_column *column)
{
	return column->head ? column->head : column->name;
}

static inline double table_value(const struct table_cell *cell)
{
	const double size = (double)cell->number;

	return cell->kind == CELL_REAL ? cell->real : cell->negative ? -size : size;
}

/* As in CSV and JSON. False: it is no number. */
static inline bool table_put_number(struct pmc_out *out, const struct table_cell *cell)
{
	if (cell->kind == CELL_REAL) {
		pmc_out_fixed(out, cell->real, cell->decimals);
	} else if (cell->kind == CELL_NUMBER) {
		if (cell->negative)
			pmc_out_char(out, '-');
		pmc_out_u64(out, cell->number);
	}
	return cell->kind == CELL_REAL || cell->kind == CELL_NUMBER;
}

/* Makes that row of the table, after choice and order, the current one. */
static inline void table_row(const struct table *table, uint64_t row)
{
	table->row(table->arg, table->order ? table->order[row] : row);
}

/* The cell as the table has it, without the blank for a + that other cells of the column have. */
void table_show(const struct table_place *place, const struct table_cell *cell,
		struct pmc_out *out);

void table_print_json(const struct table *table, bool array, struct pmc_out *out);
