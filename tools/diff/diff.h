/* SPDX-License-Identifier: MIT */
/* diff.h - pmctl diff: two sides of dumps as rows and columns of samples. Private to this folder.
 */
#ifndef PMC_TOOLS_DIFF_H
#define PMC_TOOLS_DIFF_H

#include "lib/base/hash.h"
#include "tools/bench/statistics.h"
#include "tools/bench/units.h"
#include "tools/cli/rows.h"
#include "tools/rows/fold.h"
#include "tools/view/report.h"

#include <stdbool.h>

/* The columns before the events. */
enum { DIFF_CPU, DIFF_THREADS, DIFF_FAULTS, DIFF_VOLUNTARY, DIFF_INVOLUNTARY, DIFF_EVENTS };

struct diff_column {
	const char *name;
	bool is_time;
	double least;	    /* smaller changes are not shown: the unit of a clock, a few samples */
	unsigned scopes[2]; /* of an event, on each side: bits of 1 << enum pmc_scope */
};

/* A count: long double has all integers up to 2^64 (x86, arm64). */
typedef long double diff_number;

/* One sample a dump: what the rows of a key sum up to in it. */
struct diff_row {
	const char *key, *label; /* in JSON and CSV; in tables */
	struct diff_sample {
		diff_number *values; /* of the first n columns; NAN: none */
		unsigned n;
	} * samples[2]; /* of each dump of the side */
	bool scaled;	/* some count was */
	bool there[2];
	double impact[2]; /* by which rows are ordered */
	struct diff_row *next;
	UT_hash_handle hh; /* by key */
};

/* A process of a side, and the first dump that has it. */
struct diff_process {
	uint8_t identity[16];
	unsigned sample;
	UT_hash_handle hh;
};

struct diff {
	struct pmc_arena arena;
	enum pmc_fold_by by;
	const char **files[2];
	unsigned n_files[2];
	bool vs;
	unsigned n_first; /* files of side A */
	struct tool_rows out;
	unsigned top;	   /* 0: all */
	bool all;	   /* what has not changed, too */
	double fail_above; /* percent; negative: not asked for */
	const char *event; /* of samples; NULL: all but waits */
	const char *root;  /* of modules and debug files; NULL: / */

	struct diff_column columns[DIFF_EVENTS + PMC_UNION_MAX];
	unsigned n_columns;
	struct diff_row total, others, *rows, *by_key;
	unsigned n_rows;
	const char *hosts[2];	 /* of each side, joined by commas */
	const char *commands[2]; /* of the first process of each side's first dump */
	struct diff_process *processes[2];
	bool repeated[2];   /* a process is in several dumps of the side */
	uint64_t off_ns[2]; /* longest time for which counting was off in a process */
	/* Samples by the first event of each side, and the event's own counts if known. */
	struct diff_sampled {
		const char *event;
		uint64_t samples, weight, value;
	} sampled[2];
};

/* Reads every dump of both sides into rows. 0, or the exit code with the error printed. */
int diff_read(struct diff *diff);
void diff_free_rows(struct diff *diff);
/* An empty row without samples. 0 or -ENOMEM. */
int diff_init_row(struct diff *diff, struct diff_row *row, const char *key);
/* The row of that key, made if there is none; NULL: out of memory. */
struct diff_row *diff_find_row(struct diff *diff, const char *key);
/* The column of an event that the side has; NULL: there are too many. */
struct diff_column *diff_event_column(struct diff *diff, unsigned side, const char *label,
				      const struct pmc_p_event *event);
void diff_add(struct diff_sample *sample, unsigned column, diff_number more);
/* The first column, by whose change rows are ordered. */
static inline unsigned diff_first(const struct diff *diff)
{
	return pmc_by_samples(diff->by) ? DIFF_EVENTS : DIFF_CPU;
}

struct report_names;
/* Functions or lines of a dump's samples as rows. 0 or -ENOMEM. */
int diff_take_samples(struct diff *diff, unsigned side, unsigned sample,
		      const struct pmc_profile *profile, struct report_names *names);

/* What a row has in a column on a side: of one dump the value, of several the mean that is
 * compared. */
struct diff_side {
	struct bench_summary summary;
	diff_number value;
};
/* False: the sides cannot be compared. */
bool diff_values(const struct diff *diff, const struct diff_row *row, unsigned column,
		 struct diff_side sides[2]);

struct diff_compared {
	struct diff_side sides[2];
	struct bench_delta delta;
	bool comparable;
};
/* False: neither side has a value. */
bool diff_compare(const struct diff *diff, const struct diff_row *row, unsigned column,
		  struct diff_compared *result);

/* "both", "gone" (not on side B) or "new". */
static inline const char *diff_presence(const struct diff_row *row)
{
	return bench_presence(row->there[0], row->there[1]);
}
static inline diff_number diff_change(const struct diff_compared *value)
{
	return value->sides[1].value - value->sides[0].value;
}
/* False: it is no whole number, or too large. */
bool diff_whole(diff_number value, uint64_t *size);

void diff_write_json(const struct diff *diff, struct pmc_out *out);
/* In the chosen form. 0, or the exit code with the error printed. */
int diff_write_rows(struct diff *diff);

#endif
