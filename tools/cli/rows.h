/* SPDX-License-Identifier: MIT */
/* rows.h - the flags and the output of commands that print the rows of a table. */
#pragma once

#include "tools/cli/flags.h"
#include "tools/table/table.h"

struct tool_rows {
	struct table_choice choice;
	int format; /* enum table_format */
	int width;  /* 0: the terminal's */
	const char *output;
	bool streams; /* the file is read while it is written */
	struct pmc_screen screen;
	struct pmc_out out;
};

/* `rows` is the member of FLAG_OPTIONS; an array of all columns follows. */
#define FLAG_ROWS_CHOICE(rows, ...)                                                                \
	FLAG_WHERE(rows.choice.where, rows.choice.n_where),                                        \
		FLAG_COLUMNS(rows.choice.columns, __VA_ARGS__)
#define FLAG_ROWS_OUTPUT(rows)                                                                     \
	FLAG_WIDTH(rows.width), FLAG_OUTPUT(rows.output, "output file instead of standard output")

/* Whether the rows are printed for people, aligned, as Markdown or on a page. */
static inline bool tool_rows_is_table(const struct tool_rows *rows)
{
	return rows->format == TABLE_PLAIN || rows->format == TABLE_MARKDOWN ||
	       rows->format == TABLE_HTML;
}

/* These return 0, or the exit code with the error printed. */
int tool_rows_choose(const struct tool_rows *rows, struct table *table, unsigned sums);
/* Opens rows->out for standard output or the file, with the screen that it is. */
int tool_rows_open(struct tool_rows *rows);
int tool_rows_close(struct tool_rows *rows);
/* Chooses units and widths where the format has any, and prints the table to rows->out. */
void tool_rows_print(struct tool_rows *rows, struct table *table);
/* Prints a sentence of table_say() that begins with a space, in lines of the screen; in Markdown an
 * item. */
void tool_rows_say(struct tool_rows *rows, const char *format, ...);
/* Under a table: how many rows and which columns it does not show. */
void tool_rows_put_left_out(struct tool_rows *rows, const struct table *table);
