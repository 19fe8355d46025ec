/* SPDX-License-Identifier: MIT */
/* table.h - lines and columns of a table. Private to this folder. */
#ifndef PMC_TOOLS_VIEW_TABLE_H
#define PMC_TOOLS_VIEW_TABLE_H

#include "tools/view/view.h"

#define PMC_BAR_WIDTH 6

/* The order in which columns are hidden when the table is too wide. */
enum pmc_drop {
	STAYS,
	DROP_BAR,
	DROP_SPREAD,
	DROP_INPUT,
	DROP_METRIC,
	DROP_USAGE, /* accounting, which is there unasked */
	DROP_EVENT,
	DROP_SAMPLES,
};

struct pmc_table_column {
	const struct pmc_column *column; /* NULL: bars */
	enum pmc_drop drop;
	bool left;   /* text */
	bool filled; /* some cell has a value */
	bool real, partial, estimate, hidden;
	double most;
	struct pmc_scale scale;
	int width;
	char head[128];
};

/* Where a line of a tree hangs: a caller with one callee goes on in the same level. */
struct pmc_branch {
	unsigned level;
	uint64_t last; /* bits: no line follows below the same caller at that level */
	bool connected;
};

struct pmc_table {
	struct pmc_view *view;
	struct pmc_lines lines;
	const struct pmc_fold_row *below[4]; /* sums under the lines */
	unsigned n_below;
	const struct pmc_sample_row *rest; /* below rows of samples; NULL: none */
	uint64_t at;			   /* line of the row that was made last */
	struct pmc_branch *branches;	   /* of the lines of a tree; else NULL */
	char *label;			   /* room for the label of one line of it */
	const struct pmc_fold_row *all;	   /* the sum of all rows */
	const struct pmc_coverage *coverage;
	struct pmc_table_column *columns;
	unsigned n;
	const struct pmc_column *labels; /* has those of sums; NULL: no column of text */
	double longest;			 /* share of the row with the longest bar */
	int gap;
	int blanks; /* due before the next text of the line: a line does not end in blanks */
	struct pmc_row_buf buf;
};

/* Completes `coverage` for title and footer where the lines are not those of threads. */
int pmc_table_sum(struct pmc_table *table, struct pmc_coverage *coverage);
void pmc_table_title(struct pmc_view *view, const struct pmc_coverage *coverage);
/* Its parts: the command or the number of runs, and what they used. `room` of 48 bytes. */
const char *pmc_table_command(const struct pmc_view *view, const struct pmc_coverage *coverage,
			      char room[48]);
void pmc_table_figures(struct pmc_view *view, const struct pmc_coverage *coverage,
		       struct pmc_out *out);
/* Chooses the columns, their units and widths. 0, -ENOMEM, or -EINVAL with view->problem set. */
int pmc_table_make(struct pmc_table *table);
/* Line i, or behind the lines a sum. */
void pmc_table_row(struct pmc_table *table, uint64_t i, struct pmc_row *row);
struct pmc_cell pmc_table_cell(struct pmc_table *table, const struct pmc_column *column,
			       const struct pmc_row *row);
/* Percent of all CPU time, for the bar; 0 for rows that have none. */
double pmc_table_share(struct pmc_table *table, const struct pmc_row *row);
/* A number in the unit of its column. */
void pmc_table_number(const struct pmc_table_column *column, const struct pmc_cell *cell,
		      struct pmc_out *out);
static inline bool pmc_is_sample_key(const struct pmc_column *column)
{
	return column->kind == PMC_COL_SAMPLE && column->index == PMC_SAMPLE_key;
}
/* A cell of table->rest. */
struct pmc_cell pmc_sample_rest(struct pmc_table *table, const struct pmc_column *column);
/* The label of the last row made, which is a line of a tree. */
struct pmc_cell pmc_table_branch(struct pmc_table *table);
/* Prints head and lines; the footer learns which marks and columns there are. */
void pmc_table_print(struct pmc_table *table, struct pmc_footer *footer);
/* Which marks and columns there are. */
void pmc_table_marks(struct pmc_table *table, struct pmc_footer *footer);
/* A cell without a value has none on purpose: nothing is shown rather than a dash. */
bool pmc_table_is_blank(const struct pmc_table_column *column);
/* Title, columns, cells and footer as a JSON object. */
int pmc_table_json(struct pmc_table *table, struct pmc_footer *footer);

#endif
