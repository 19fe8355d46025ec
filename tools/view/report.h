/* SPDX-License-Identifier: MIT */
/* report.h - a profile as a table, JSON or CSV: pmctl report, and what pmctl run prints. */
#pragma once

#include "lib/base/advice.h"
#include "lib/base/out.h"
#include "lib/base/show.h"
#include "tools/rows/fold.h"
#include "tools/rows/profile.h"

enum pmc_report_format { /* enum table_format, and lines of call paths */
			 PMC_FORMAT_TABLE,
			 PMC_FORMAT_JSON,
			 PMC_FORMAT_CSV,
			 PMC_FORMAT_JSON_LINES,
			 PMC_FORMAT_MARKDOWN,
			 PMC_FORMAT_FOLDED,
};

/* Words of --by. NULL: none. */
enum { PMC_N_BY = PMC_BY_PATH + 1 };
extern const char *const pmc_by_names[PMC_N_BY], *const pmc_by_aliases[PMC_N_BY];

static inline bool pmc_format_is_table(enum pmc_report_format format)
{
	return format == PMC_FORMAT_TABLE || format == PMC_FORMAT_MARKDOWN;
}

/* A row of --by waker, function, line, module or path. */
struct pmc_sample_row {
	const char *function; /* as in the source, or module+offset, or a module; never NULL */
	const char *module;   /* path; "" unknown */
	const char *file;     /* "" unknown */
	unsigned line;
	unsigned depth;			     /* of a path: below how many others */
	const struct pmc_sample_row *parent; /* of a path: caller, bottom-up callee; else NULL */
	const struct pmc_fold_row *group; /* of its threads, by other keys; NULL: there are none */
	uint64_t callees; /* of a path: rows whose parent it is, also those that are not selected */
	uint64_t threads;
	/* Samples taken in it, and in it or what it called; and their weights. */
	uint64_t samples, total_samples, self, total;
	struct pmc_fold_waits *waits; /* by waker; NULL: other rows */
};

/* The key of a row of --by function, line or module, perhaps in room. whole: with whole paths. */
const char *pmc_sample_key(const struct pmc_sample_row *row, enum pmc_fold_by by, bool whole,
			   char *room, size_t cap);

struct pmc_sample_fold {
	enum pmc_fold_by by;
	bool inverted;			    /* paths from where samples were taken to the callers */
	const struct pmc_p_samples **lists; /* of the selected threads, by one event */
	/* Of each list the group of its thread, each of which has rows of its own; NULL: none. */
	const struct pmc_fold_row **groups;
	bool group_rows; /* with a row for each group: of paths their outermost caller */
	bool silent;	 /* no warning of samples without a name or line */
	uint64_t n_lists;
	struct pmc_arena *arena; /* for the result */
	/* Result. Paths are in the order of the tree: a caller, then all it called, the heaviest
	 * first. */
	const struct pmc_sample_row **rows;
	uint64_t n_rows;
};

struct pmc_report_options {
	enum pmc_report_format format;
	enum pmc_fold_by by;		    /* of several keys the last one */
	unsigned char outer[PMC_KEYS_MOST]; /* those before it, ended by PMC_BY_NONE */
	enum pmc_fold_by across;  /* statistics are over sums by this key; NONE: over threads */
	const char *sort;	  /* column; NULL: CPU time */
	const char *const *where; /* "COLUMN=GLOB", all must match */
	unsigned n_where;
	const char *columns;	 /* "a,b,c" of a table or CSV; NULL: the usual ones */
	int top;		 /* rows shown; -1: default (20 in a table, all else); 0: all */
	bool summary;		 /* totals and coverage without thread rows */
	bool wide;		 /* every column, however wide */
	bool timeline;		 /* a line per snapshot instead */
	bool histogram;		 /* of waits, below the table; in CSV in place of the rows */
	bool inverted;		 /* --by tree: bottom-up */
	uint64_t from_ns, to_ns; /* samples of that time only; to_ns 0: all */
	uint64_t every_ns;	 /* with --by time: its intervals; --top is for each of them */
	bool wakers;		 /* one of the keys is waker */
	const char *event;	 /* whose samples are shown; NULL: the one with most */
	/* Of that event; NULL: any. */
	const char *core_type;
	/* A table as JSON: its columns, cells and footer. --by function: no table, but the line in
	 * front of it as a JSON string. */
	bool cells;
	/* Makes the rows of --by function, line, module and path. */
	void (*fold_samples)(struct pmc_sample_fold *fold, void *arg);
	/* The functions of a stack as text, for --by start; NULL: start routines alone. */
	const char *(*path_of)(const struct pmc_p_stack *stack, void *arg);
	void *names_arg; /* of both */
	struct pmc_screen screen;
	bool no_flags;		     /* hints name pmctl report, not its flags alone */
	const char *keep_hint;	     /* how to keep this run; NULL: it is kept */
	const char *const *dumps;    /* the files that were read, for hints */
	unsigned n_dumps;	     /* 0: unknown */
	unsigned jobs;		     /* processes that print rows of CSV and JSON; 0: one */
	const struct pmc_here *here; /* the machine, if it was measured here and now; else NULL */
};

/* Sums of a profile's threads by a key, and of what is in no thread's row, for comparisons. */
struct pmc_groups {
	const struct pmc_union *events;
	const struct pmc_fold_row *rows;
	const struct pmc_fold_row *unattributed, *descendants; /* NULL: there are none */
};
void pmc_groups_make(struct pmc_profile *profile, const unsigned char *outer, enum pmc_fold_by by,
		     struct pmc_arena *arena, struct pmc_groups *groups);

/* How a process ended: "running", "exit:0", "exit" without a known status, "signal:9", "exec";
 * "lost": its rows are there, but no frame of the process, or none of its end. */
#define PMC_ENDED_BYTES 24
void pmc_process_ended(const struct pmc_p_process *process, char text[PMC_ENDED_BYTES]);

/* A clock that is sampled in user mode only, but counts kernel mode, too. */
bool pmc_is_user_clock(const struct pmc_p_event *event);

/* The end of "no samples" where a dump has none. */
const char *pmc_why_no_samples(const struct pmc_profile *profile);
/* 0, or -EINVAL with *problem naming the unknown column or bad condition, -ENOENT with *problem if
 * no row meets the conditions, or out's error. With 0 *problem is a warning or NULL. Flushes
 * out. */
int pmc_report(struct pmc_profile *profile, const struct pmc_report_options *options,
	       struct pmc_out *out, const char **problem);
