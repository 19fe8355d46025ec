/* SPDX-License-Identifier: MIT */
/* table.h - lines and columns of a table; private to agent/core/report. */
#ifndef PMC_CORE_REPORT_TABLE_H
#define PMC_CORE_REPORT_TABLE_H

#include "agent/core/report/view.h"

#define PMC_SCREEN_WIDTH 100
#define PMC_BAR_WIDTH	 6

struct pmc_line { /* a thread, a step or a sum */
	const struct pmc_p_row *row;
	const struct pmc_step *step;
	const struct pmc_fold_row *sums;
	bool dim, unattributed, total;
};

/* The order in which columns give way when the table is too wide. */
enum pmc_drop { STAYS, DROP_BAR, DROP_SPREAD, DROP_INPUT, DROP_METRIC, DROP_EVENT, DROP_USAGE };

struct pmc_table_column {
	const struct pmc_column *column;
	enum { VALUES, LABELS, BARS } shows;
	enum pmc_drop drop;
	bool left;   /* text */
	bool filled; /* some cell has a value */
	bool real, partial, estimate, hidden;
	double most, divisor;
	int decimals, width;
	char head[128];
};

struct pmc_table {
	struct pmc_view *view;
	struct pmc_line *lines;
	uint64_t n_lines;
	struct pmc_table_column *columns;
	unsigned n;
	const struct pmc_fold_row *all; /* the sum of all rows */
	double longest;			/* share of the row with the longest bar */
	int gap;
	struct pmc_line_buf *buf;
};

struct pmc_line_buf { /* room for the thread of a line */
	struct pmc_step_buf step;
};

/* Chooses the columns, their units and widths. 0, -ENOMEM, or -EINVAL with view->problem set. */
int pmc_table_make(struct pmc_table *table);
/* The line as a row; of a thread, in buf. */
void pmc_table_row(const struct pmc_table *table, const struct pmc_line *line,
		   struct pmc_line_buf *buf, struct pmc_row *row);
struct pmc_cell pmc_table_cell(struct pmc_table *table, const struct pmc_table_column *column,
			       const struct pmc_line *line, const struct pmc_row *row);
/* Percent of all CPU time. */
double pmc_table_share(struct pmc_table *table, const struct pmc_row *row);
/* A number in the unit of its column. */
void pmc_table_number(const struct pmc_table_column *column, const struct pmc_cell *cell,
		      struct pmc_out *out);
/* Prints head and lines; the footer learns which marks and columns there are. */
void pmc_table_print(struct pmc_table *table, struct pmc_footer *footer);

#endif
