/* SPDX-License-Identifier: MIT */
/* diff.h - pmctl diff: two sides of dumps, row by row. Private to this folder. */
#pragma once

#include "lib/base/hash.h"
#include "lib/bench/statistics.h"
#include "tools/cli/rows.h"
#include "tools/rows/fold.h"
#include "tools/view/report.h"

#include <math.h>
#include <stdbool.h>

/* The columns before the events. Regions have calls in place of threads. */
enum { DIFF_CPU, DIFF_THREADS, DIFF_FAULTS, DIFF_VOLUNTARY, DIFF_INVOLUNTARY, DIFF_EVENTS };

struct diff_column {
	const char *name, *head; /* in JSON and CSV; in tables */
	bool is_time;
	double least;	    /* of one run a side, smaller changes are not shown */
	unsigned scopes[2]; /* of an event, on each side: bits of 1 << enum pmc_scope */
	/* In tables: the unit, by the largest value, and whether some have fractions. */
	struct pmc_scale scale;
	double most;
	bool real;
};

/* CPU time and events, by which --fail-above judges. */
static inline bool diff_is_cost(unsigned column)
{
	return column == DIFF_CPU || column >= DIFF_EVENTS;
}

/* A count: long double has all integers up to 2^64 (x86, arm64). */
typedef long double diff_number;

struct diff_row {
	const char *key, *label; /* in JSON and CSV; in tables */
	bool there[2];
	double impact[2]; /* by which rows are ordered */
	/* By column: what it has in each dump, NAN: nothing. NULL: nothing in any dump. */
	diff_number **sums;
	unsigned n;
	size_t room;
	UT_hash_handle hh; /* by key, in the order of the output */
};

/* Dumps that are one run. */
struct diff_run {
	const char *name; /* of the first one */
	const char **paths;
	unsigned n_paths;
	size_t room;
	unsigned at; /* in the order of the command line */
	time_t time; /* last modification of a dump */
};

struct diff_runs {
	struct diff_run *list;
	unsigned n;
};

struct diff {
	struct pmc_arena arena;
	unsigned char keys[PMC_KEYS_MOST + 1]; /* of --by */
	enum pmc_fold_by by;		       /* the last one */
	unsigned char outer[PMC_KEYS_MOST];    /* those before it, ended by PMC_BY_NONE */
	const char **patterns[2];	       /* of --a and --b */
	unsigned n_patterns[2];
	/* Of side A, then of side B: operands, then the first dump of each run. */
	const char **files;
	unsigned n_files[2];
	bool vs;
	bool by_file;	  /* the files of an operand may be several runs */
	unsigned n_first; /* files of side A */
	struct tool_rows out;
	unsigned top;	   /* 0: all */
	bool all;	   /* what has not changed, too */
	double fail_above; /* percent; negative: not asked for */
	const char *event; /* of samples; NULL: all but waits */
	const char *root;  /* of modules and debug files; NULL: / */
	struct report_names *names;
	const char *page, *per; /* --html, --per */

	struct diff_column columns[DIFF_EVENTS + PMC_UNION_MAX];
	unsigned n_columns;
	struct diff_row total, others, *rows;
	unsigned n_dumps;	 /* that may be read, of both sides */
	double *values;		 /* room for one of each dump */
	bool scaled;		 /* some count was */
	const char *hosts[2];	 /* of each side, joined by commas */
	const char *commands[2]; /* of the first process of each side's first dump */
	uint64_t jobs[2];	 /* most in one dump of each side */
	uint64_t off_ns[2];	 /* longest time for which counting was off in a process */
	/* Samples by the first event of each side, and the event's own counts if known. */
	struct diff_sampled {
		const char *event;
		uint64_t samples, weight;
		uint64_t value; /* what the weights should add up to; of a clock all CPU time */
		bool is_cpu;
		uint64_t incomplete; /* samples with a truncated stack */
	} sampled[2];
};

/* Names of the values of --by, by enum pmc_fold_by; NULL: threads are not the same in two runs, and
 * there are no trees of paths. */
enum {
	DIFF_KEYS = 1
#define X(name, alias, value, doc) +1
#include "tools/rows/by.def"
#undef X
};
extern const char *const diff_keys[DIFF_KEYS];
/* Sets by and outer from the words of --by, and checks the flags of samples. 0, or the exit code
 * with the error printed. */
int diff_choose_keys(struct diff *diff);
/* Before the dumps are read: adds the columns before the events. */
void diff_start(struct diff *diff, unsigned n_dumps);
void diff_take(struct diff *diff, unsigned side, unsigned at, struct pmc_profile *profile);
/* After the last one: warns of functions without names. */
void diff_end(struct diff *diff);
/* The runs of the dumps, in the order of the command line. by_file: each file may be another run;
 * else a path is of one run. Those with processes of another one are left out, with a warning. 0,
 * or the exit code with the error printed. */
int diff_find_runs(struct diff *diff, const char *const *paths, unsigned n, bool by_file,
		   struct diff_runs *runs);
/* The dumps of a run, finished. 0 and false: they are damaged and left out, with a warning, since
 * there are several. */
int diff_load_run(const struct diff_run *run, bool several, struct pmc_profile *profile,
		  bool *whole);
/* For HASH_SORT(): the rows with most impact first. */
int diff_by_impact(const struct diff_row *x, const struct diff_row *y);
/* Reads every dump of both sides into rows. 0, or the exit code with the error printed. */
int diff_read(struct diff *diff);
/* What the row has in each dump; NULL: it has nothing in that column. */
static inline const diff_number *diff_sums(const struct diff_row *row, unsigned column)
{
	return column < row->n ? row->sums[column] : NULL;
}
/* What the row has in a dump: threads and functions that are missing in it are 0 there. */
diff_number diff_value(const struct diff *diff, const struct diff_row *row, unsigned column,
		       unsigned dump);
void diff_add(struct diff *diff, struct diff_row *row, unsigned column, unsigned dump,
	      diff_number more);
static inline const char **diff_files(const struct diff *diff, unsigned side)
{
	return diff->files + (side ? diff->n_files[0] : 0);
}
/* The first column, by whose change rows are ordered. */
static inline unsigned diff_first(const struct diff *diff)
{
	return pmc_by_samples(diff->by) ? DIFF_EVENTS : DIFF_CPU;
}

struct diff_compared {
	struct diff_side { /* of one dump the value, of several the mean that is compared */
		struct bench_summary summary;
		diff_number value;
	} sides[2];
	struct bench_delta delta;
	bool comparable;
};
/* The values of a row in a column on both sides. False: neither side has a value. */
bool diff_compare(const struct diff *diff, const struct diff_row *row, unsigned column,
		  struct diff_compared *result);

static inline diff_number diff_change(const struct diff_compared *value)
{
	return value->sides[1].value - value->sides[0].value;
}

/* Whether an event that the row has counts the same. */
bool diff_is_event_too(const struct diff *diff, const struct diff_row *row, unsigned column);
/* Takes a value that a table shows into account for the unit of its column. */
static inline void diff_measure(struct diff_column *column, diff_number value)
{
	column->real |= value != roundl(value);
	column->most = fmax(column->most, (double)value);
}
/* The units of all columns, from these values. */
void diff_choose_scales(struct diff *diff);
/* Of numbers that are not whole, in CSV. */
enum { TABLE_LINE_DECIMALS = 3 };
/* people: in tables, with that scale. */
static inline struct table_cell diff_number_cell(bool people, bool known, diff_number value,
						 const struct pmc_scale *scale, unsigned decimals)
{
	struct table_cell cell = known ? cell_double(value, decimals) : cell_null();

	cell.scale = people ? scale : NULL;
	return cell;
}
/* The name and its unit in tables; without a scale the name of CSV. */
struct table_cell diff_name_cell(struct diff *diff, unsigned column, const struct pmc_scale *scale);
const char *diff_key_head(const struct diff *diff);

extern const struct table_column diff_table_columns[9];
/* In the chosen form. 0, or the exit code with the error printed. */
int diff_write_rows(struct diff *diff);
