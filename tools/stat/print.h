/* SPDX-License-Identifier: MIT */
/* print.h - lines of output, and their columns and cells. Private to this folder. */
#ifndef PMC_TOOLS_STAT_PRINT_H
#define PMC_TOOLS_STAT_PRINT_H

#include "tools/stat/stat.h"

enum stat_column_kind { STAT_KEY, STAT_EVENT, STAT_CPU_USE, STAT_METRIC, STAT_WAIT, STAT_AT };
enum stat_part { STAT_VALUE, STAT_RAW, STAT_ENABLED, STAT_RUNNING, STAT_STATE, STAT_SCOPE };

/* What is printed: a row, or the sum of several. */
struct stat_line {
	struct stat_key key;
	const char *name;	      /* of the thread or pool; NULL: neither */
	const char *label;	      /* of sums, in tables: in the first column of the key */
	const struct live_task *task; /* of one thread alone */
	struct pmc_count *counts;
	struct stat_place places[STAT_PLACES]; /* since the start */
	enum stat_known known;
	struct live_span span;
	unsigned threads;    /* of a pool; 0: no pool */
	bool shown;	     /* in this interval */
	const char *pattern; /* of a pool: of the names of its threads */
};

/* Of one interval, or of the summary. */
struct stat_lines {
	struct stat_job *stat;
	struct stat_line *list;
	const struct stat_line *at; /* the current one */
	unsigned n;
	bool summary, cumulative;
	bool labels; /* for people, not for programs */
	uint64_t ns; /* that the counts are of */
	struct pmc_arena *arena;
};

/* ---- columns.c ---- */
struct table_cell stat_cell(void *arg, const struct table_column *column); /* arg: the lines */

void stat_json(struct stat_lines *lines); /* the current line */
/* The first line, of the whole target. 0 or -ENOMEM. */
int stat_list(struct stat_lines *lines);

#endif
