/* SPDX-License-Identifier: MIT */
/* table.h - lines and columns of a table. Private to this folder. */
#ifndef PMC_TOOLS_VIEW_TABLE_H
#define PMC_TOOLS_VIEW_TABLE_H

#include "tools/view/view.h"

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
	struct table_column *columns;
	unsigned n;
	const struct table_column *labels; /* has those of sums; NULL: no column of text */
	struct table print;
};

/* Completes `coverage` for title and footer where the lines are not those of threads. */
void pmc_table_sum(struct pmc_table *table, struct pmc_coverage *coverage);
void pmc_table_title(struct pmc_view *view, const struct pmc_coverage *coverage);
/* Its parts: the command or the number of runs, and what they used. `room` of 48 bytes. */
const char *pmc_table_command(const struct pmc_view *view, const struct pmc_coverage *coverage,
			      char room[48]);
void pmc_table_figures(struct pmc_view *view, const struct pmc_coverage *coverage,
		       struct pmc_out *out);
/* Chooses the columns and lays them out. 0, or -EINVAL with view->problem set. */
int pmc_table_make(struct pmc_table *table);
void pmc_table_layout(struct pmc_table *table);
/* "(17 more)": lines beyond those that are shown. */
const char *pmc_more(const struct pmc_lines *lines);
static inline bool pmc_is_sample_key(const struct pmc_view *view, const struct table_column *column)
{
	return column->kind == PMC_COL_KEY && pmc_by_samples(pmc_key_at(view, column->index));
}
/* A cell of table->rest. */
struct table_cell pmc_sample_rest(struct pmc_table *table, const struct table_column *column);
/* The label of the last row made, which is a line of a tree. */
struct table_cell pmc_table_branch(struct pmc_table *table);
/* Title (of samples the caller puts it), table and footer in the format. */
void pmc_table_put(struct pmc_table *table, struct pmc_footer *footer);

#endif
