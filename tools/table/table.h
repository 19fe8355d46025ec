/* SPDX-License-Identifier: MIT */
/*
 * table.h - rows of typed cells as a table, Markdown, CSV, JSON or JSON lines: the one printer of
 * all commands that print rows.
 *
 * A command lists its columns and gives the cells of one row after the other; choice, order, units,
 * widths and formats are here. Rows are asked for several times, so a source answers the same each
 * time. Not thread-safe, no signal handlers.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/out.h"
#include "lib/base/show.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- cells -------------------------------------------------------------------------------- */

struct table_cell {
	enum __attribute__((packed)) {
		CELL_NULL,
		CELL_NUMBER,
		CELL_REAL,
		CELL_TEXT,
		CELL_JSON /* text as it is in JSON: true, a list */
	} kind;
	bool partial;		/* a sum some rows are missing from: a + behind it */
	unsigned char estimate; /* not 0: a ~ before it */
	unsigned char decimals; /* of a real number in CSV and JSON */
	bool plus;		/* a sign before positive numbers, too */
	bool negative;		/* a whole number below 0, of that size */
	union {
		uint64_t number;
		double real;
		size_t len;
	};
	const char *text;	       /* good until the next cell */
	const struct pmc_scale *scale; /* in tables, in place of the column's; NULL: the column's */
};

/* Decimals in CSV and JSON. A scaled count needs more: joules by 2.3e-10, seconds by 1e-9. */
enum { TABLE_DECIMALS = 6, TABLE_SCALED_DECIMALS = 9 };

static inline struct table_cell cell_null(void)
{
	return (struct table_cell){ .kind = CELL_NULL };
}

static inline struct table_cell cell_number(bool known, uint64_t value)
{
	return (struct table_cell){ .kind = known ? CELL_NUMBER : CELL_NULL, .number = value };
}

/* nan, inf and what cannot be printed are null. */
static inline struct table_cell cell_real(double value, unsigned decimals)
{
	const bool known = pmc_out_fixed_fits(value);

	return (struct table_cell){ .kind = known ? CELL_REAL : CELL_NULL,
				    .decimals = (unsigned char)decimals,
				    .real = value };
}

/* Whole numbers as such, others with that many decimals. long double has all integers up to 2^64
 * (x86, arm64). */
static inline struct table_cell cell_double(long double value, unsigned decimals)
{
	const long double size = value < 0 ? -value : value;
	struct table_cell cell;

	if (!(size < 0x1p64L && (long double)(uint64_t)size == size))
		return cell_real((double)value, decimals);
	cell = cell_number(true, (uint64_t)size);
	cell.negative = value < 0;
	return cell;
}

static inline struct table_cell cell_textn(const char *text, size_t len)
{
	return (struct table_cell){ .kind = CELL_TEXT, .text = text, .len = len };
}

static inline struct table_cell cell_text(const char *text)
{
	return text ? cell_textn(text, strlen(text)) : cell_null();
}

static inline struct table_cell cell_bool(bool value)
{
	return (struct table_cell){ .kind = CELL_JSON,
				    .text = value ? "true" : "false",
				    .len = value ? 4 : 5 };
}

/* ---- columns ------------------------------------------------------------------------------ */

/* ID is printed as it is, WHOLE never scaled; COUNT and NS get one unit from the largest value,
 * each TIME, in ns, has its own. A BAR is a share of the longest one, in tables only. */
enum table_unit {
	TABLE_TEXT,
	TABLE_ID,
	TABLE_WHOLE,
	TABLE_COUNT,
	TABLE_NS,
	TABLE_TIME,
	TABLE_PERCENT,
	TABLE_RATIO,
	TABLE_BAR,
};

/* The order in which columns are hidden when the table is too wide. */
enum table_drop {
	TABLE_STAYS,
	TABLE_DROP_BAR,
	TABLE_DROP_SPREAD,
	TABLE_DROP_INPUT, /* what other columns are made of */
	TABLE_DROP_METRIC,
	TABLE_DROP_USAGE, /* accounting, which is there unasked */
	TABLE_DROP_ROW,	  /* what else is there of the row, before what was asked for */
	TABLE_DROP_EVENT,
	TABLE_DROP_LAST,
};

struct table_column {
	const char *name, *suffix; /* of CSV, JSON and flags: "cycles" ".min"; NULL: no suffix */
	const char *head;	   /* in tables; NULL: the name */
	const char *scale_unit;	   /* behind the prefix of a COUNT: "J"; NULL: none */
	const struct pmc_scale *scale; /* in tables; NULL: from the largest value */
	unsigned char unit;	       /* enum table_unit */
	unsigned char drop;	       /* enum table_drop */
	unsigned char decimals;	       /* the most that a RATIO has in tables; 0: 3 */
	unsigned char cut;	       /* enum pmc_cut: where text that is too wide is cut */
	bool right;		       /* text at the right */
	bool blank;	 /* null is nothing in tables, not a dash: it has no meaning */
	bool kept;	 /* also where no cell has a value */
	bool hidden;	 /* of tables alone: not in CSV and JSON, unless it is asked for */
	bool data;	 /* of CSV and JSON alone: not in tables, unless it is asked for */
	bool functions;	 /* names of functions, whose start tells little */
	bool rest;	 /* text that is cut to what the other columns leave */
	int least, most; /* width in tables; most 0: no limit */
	/* Not 0: columns of that number are compared, so they have one unit, and one number of
	 * decimals unless they are far apart, as a sum and a minimum. */
	unsigned together;
	bool own_decimals;
	unsigned place; /* of columns with one `drop` the one with the highest is hidden first */
	/* the command's own */
	unsigned char kind, part, when;
	bool json;
	unsigned index;
	const char *member; /* `,"NAME":` */
};
#define TABLE_COLUMN(title, at, ...)                                                               \
	{                                                                                          \
		.name = title, .index = at, ##__VA_ARGS__                                          \
	}

/* By name, name and suffix, or head; NULL with *problem set to a text in the arena that names the
 * nearest one. */
const struct table_column *table_find(const struct table_column *columns, unsigned n,
				      const char *name, size_t len, struct pmc_arena *arena,
				      const char **problem);
/* "a,b,c" in that order. 0, or -EINVAL with *problem set. */
int table_choose(const struct table_column *columns, unsigned n, const char *names,
		 struct pmc_arena *arena, struct table_column **chosen, unsigned *n_chosen,
		 const char **problem);
/* Whether the cell as in CSV matches the pattern of fnmatch(3); a path by its last part, too. */
bool table_matches(const struct table_cell *cell, const char *glob);
/* Conditions of the form COLUMN=GLOB, all of which a row must meet. 0, or -EINVAL with *problem
 * set. */
struct table_condition {
	const struct table_column *column;
	const char *text, *glob; /* all of it, and behind the = */
};
struct table;
int table_conditions(const struct table_column *columns, unsigned n, const char *const *texts,
		     unsigned n_texts, struct pmc_arena *arena, struct table_condition **conditions,
		     const char **problem);
bool table_selects(const struct table *table, uint64_t row,
		   const struct table_condition *conditions, unsigned n);
/* Makes `order` the places of n rows by that column: numbers downwards, text upwards, null last,
 * equals as they are. */
void table_sort(const struct table *table, const struct table_column *column, bool reverse,
		uint64_t *order, uint64_t n);
/* As strcmp(), but numbers in the texts by their value: rank-2 is before rank-10. */
int table_natural_order(const char *a, const char *b);
/* A value of the column, with or without a match, that the condition may have meant: one that has
 * its text in it, or the nearest. NULL: none. */
const char *table_near(const struct table *table, const struct table_condition *condition);

/* ---- tables ------------------------------------------------------------------------------- */

enum table_format { TABLE_PLAIN, TABLE_JSON, TABLE_CSV, TABLE_JSONL, TABLE_MARKDOWN, TABLE_HTML };
/* As words of --format, in that order, without HTML, of which a page is made. */
#define TABLE_FORMATS "table", "json", "csv", "jsonl", "markdown"

struct table_line {
	bool dim;
	bool gap;	   /* an empty line before it */
	signed char color; /* of its last column: -1 green, 1 red */
};

struct table_place {
	const struct table_column *column;
	bool left, filled, real, partial, estimate, hidden;
	double most, least;		 /* of numbers; least: the one nearest to 0 that is not 0 */
	double unit_most;		 /* of all columns that are compared with it */
	const struct table_place *above; /* of this column in the table above; NULL: none */
	struct pmc_scale scale;
	const char *micro; /* the unit of microseconds */
	int width, whole;  /* as it is, and uncut */
	char head[256];
};

struct table {
	/* set by the command */
	const struct table_column *columns;
	unsigned n_columns;
	uint64_t n_rows;
	void *arg;
	const uint64_t *order; /* rows as table_apply() chose them; NULL: all, as they are */
	void (*row)(void *arg, uint64_t row); /* makes it the current one */
	struct table_cell (*cell)(void *arg, const struct table_column *column);
	struct table_line (*line)(void *arg); /* NULL: nothing special */
	struct pmc_screen screen;
	struct pmc_arena *arena;
	bool wide;	 /* every column, however wide */
	bool tight;	 /* one blank between columns */
	int indent;	 /* of lines of the table */
	uint64_t n_more; /* rows that table_choice.top leaves out */
	/* The table above, of the same columns: its units stay while values fit. NULL: none. */
	const struct table *before;
	/* made by table_layout() */
	struct table_place *places;
	unsigned n;
	int gap;
	const char *hidden;		/* heads of columns that do not fit, "a, b"; "" */
	bool has_partial, has_estimate; /* marks in shown columns */
};

/* Rows of cells that are ready: row i from cells + i * n on, by column->index. */
struct table_cells {
	struct table_cell *cells;
	unsigned n;
	const struct table_cell *at; /* the current row */
};
/* Makes them the rows of the table; texts live as long as it does. */
void table_set_cells(struct table *table, struct table_cells *cells);

struct table_choice {
	const char *columns, *sort; /* NULL: all of them; as the rows are */
	const char **where;	    /* COLUMN=GLOB, all must match */
	unsigned n_where;
	unsigned top; /* rows; 0: all */
	bool reverse; /* of `sort` */
};
/* Applies it to a table whose last `sums` rows are sums of the others: they stay the last ones, and
 * go with a condition. 0, or with *problem set -EINVAL, or -ENOENT: of some rows none is left. */
int table_apply(struct table *table, const struct table_choice *choice, unsigned sums,
		const char **problem);

void table_layout(struct table *table);
void table_put_head(const struct table *table, struct pmc_out *out);
/* Rows from `from` up to `to`. */
void table_put_rows(const struct table *table, uint64_t from, uint64_t to, struct pmc_out *out);
/* Whether the heads are as those of the other table, whose lines can go on. */
bool table_same_heads(const struct table *a, const struct table *b);

/* Head and all rows in a format; JSON: an array, or nothing but the objects of JSONL. Of PLAIN and
 * MARKDOWN and HTML after table_layout(). */
void table_print(const struct table *table, enum table_format format, struct pmc_out *out);
/* Text in which Markdown finds nothing of its own. */
void table_put_markdown(struct pmc_out *out, const char *text, size_t len);
/* Text of HTML and SVG. */
void table_put_html(struct pmc_out *out, const char *text, size_t len);
void table_csv_head(const struct table *table, struct pmc_out *out);
void table_csv_row(const struct table *table, uint64_t row, struct pmc_out *out);
void table_put_csv(struct pmc_out *out, const struct table_cell *cell);
void table_put_json(struct pmc_out *out, const struct table_cell *cell);

/* Formats a sentence. %n: a uint64_t with separators; %(one|many): by the last %n; %t: a time in
 * ns, uint64_t; %v, %p: a double as a number or percentage; %s: text; %40S: text of unknown origin,
 * cut to so many columns (none: not cut); %.: a dot between parts; %%. */
void table_say(struct pmc_out *out, const struct pmc_screen *screen, const char *format, ...);
void table_vsay(struct pmc_out *out, const struct pmc_screen *screen, const char *format,
		va_list args);

struct table_reason {
	const char *name, *why; /* why NULL: it has one */
};
/* Puts the head, names with the reason of entry i, and the reason: "NAME, NAME: WHY". False, and
 * nothing is put: it has none, or an entry before it has the same. */
bool table_put_reason(struct pmc_out *out, const struct pmc_screen *screen, const char *head,
		      const struct table_reason *list, unsigned n, unsigned i);

/* Texts, and how often each was there. Few in practice; a hostile dump's further ones are left out.
 */
enum { TABLE_TALLIES = 16 };
struct table_tallies {
	struct table_tally {
		uint64_t count;
		uint32_t kind;
		const char *text;
	} list[TABLE_TALLIES];
	unsigned n;
};
void table_tally(struct table_tallies *tallies, uint32_t kind, const char *text, uint64_t count);

/* For pages that draw the table: members "columns", and rows with what each cell shows and the
 * number behind it. After table_layout(). */
struct pmc_json;
void table_page_columns(const struct table *table, struct pmc_json *json);
void table_page_rows(const struct table *table, struct pmc_json *json, const char *key,
		     uint64_t from, uint64_t to);
