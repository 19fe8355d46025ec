/* SPDX-License-Identifier: MIT */
/*
 * fold.h - many rows as one: events of different sets united, sums with their state, groups by key.
 *
 * Memory is the arena's. A sum says how many of its rows had a value, so that "not counted" never
 * turns into 0.
 */
#pragma once

#include "lib/base/hash.h"
#include "lib/base/histogram.h"
#include "lib/base/out.h"
#include "tools/rows/metrics.h"
#include "tools/rows/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- events of several sets as one list ----------------------------------------------- */

/* Bounds what a hostile dump can allocate; further events are left out. */
#define PMC_UNION_MAX 1024
#define PMC_NO_COLUMN 0xffff

/* A metric that a set has the events for. */
struct pmc_union_ratio {
	unsigned metric;
	struct pmc_metric_events events;
};

struct pmc_union_map { /* private: columns of a set's events */
	const struct pmc_p_set_view *set;
	uint16_t *column;
	struct pmc_union_ratio *ratios;
	unsigned n_ratios;
	UT_hash_handle hh; /* by set->hash */
};

struct pmc_union_column {
	const char *label; /* the name; with "#2" if asked for twice, "@type" on hybrid CPUs */
	unsigned nth;	   /* among equals of its set, from 1 */
	bool mixed_scope;  /* not all sets counted it in the same scope */
};

/* Events are the same if name, place among equals of their set, core type and unit are. */
struct pmc_union {
	struct pmc_arena *arena;
	struct pmc_p_set_view set; /* the united events */
	struct pmc_union_column *columns;
	bool overflow;
	uint64_t ratios;	    /* bits: metrics that some set has the events for */
	unsigned n_ratios;	    /* of these */
	unsigned char ratio_at[64]; /* private: by metric, its place in rows */
	struct pmc_p_event *events; /* private, as the rest */
	struct pmc_union_map *maps, *last;
};

void pmc_union_init(struct pmc_union *u, struct pmc_arena *arena);
/* NULL and known sets add nothing. `grow` false: events without a column get none
 * (for events that only an inherit group counts). */
void pmc_union_add(struct pmc_union *u, const struct pmc_p_set_view *set, bool grow);
/* Column of each event of the set (PMC_NO_COLUMN: left out), or NULL if it was not added. */
const uint16_t *pmc_union_map(struct pmc_union *u, const struct pmc_p_set_view *set);
/* The set a row was to be counted with: its own or its process's. May be NULL. */
const struct pmc_p_set_view *pmc_union_set_of(struct pmc_union *u,
					      const struct pmc_p_thread *thread);
/* Counts of every event of that set (*set), also where the row has none: these are in `none`, with
 * room for PMC_SET_EVENTS_MAX. */
const struct pmc_count *pmc_union_counts(struct pmc_union *u, const struct pmc_p_thread *thread,
					 const struct pmc_p_set_view **set, struct pmc_count *none);

/* The factor from a count to its unit; 1 where the dump has no valid one. */
double pmc_event_scale(const struct pmc_p_event *event);
/* Its unit as names of metrics of Prometheus have it: "" of a count, "seconds" of ns. */
void pmc_event_metric_unit(const struct pmc_p_event *event, char unit[32]);

/* ---- sums ------------------------------------------------------------------------------ */

struct pmc_fold_waits {
	uint64_t rows;	/* whose waits are known */
	uint64_t lacks; /* of these, with lost records */
	uint64_t ns;
	struct pmc_histogram lengths;
};

struct pmc_fold_stat {
	uint64_t rows, scaled; /* rows with a value; of these, the scaled ones */
	uint64_t extra;	       /* contributions beside the rows: unattributed, descendants */
	uint64_t sum, min, max;
	uint64_t raw, enabled_ns, running_ns;
	double mean, m2;     /* Welford's, if the spread is kept */
	const char *largest; /* by pmc_fold_part(): label of the part with the maximum; else NULL */
	uint32_t error;	     /* behind `why`, if it is the same for all */
	uint8_t why;	     /* the state of rows without a value, NOT_COUNTED if they differ */
};

struct pmc_fold_row {
	const char *label; /* of several keys joined by commas; set by pmc_fold_end() */
	uint64_t index;	   /* in its fold */
	uint64_t threads;
	uint64_t rows;
	uint64_t parts;	  /* added by pmc_fold_part(), but for one without a name */
	uint64_t wall_ns; /* for which counting was on in a single thread; else 0 */
	struct pmc_fold_stat cpu;
	struct pmc_fold_stat run_delay; /* waiting for a CPU */
	uint64_t usage_rows;		/* rows whose faults and switches are known */
	uint64_t switch_rows;		/* these, and rows whose switches alone are known */
	uint64_t usage_least;		/* of the others, rows with lower bounds */
	bool usage_lacks;		/* those of work beside the rows, in a total */
	bool switches_lack;
	struct pmc_usage usage;
	uint64_t sampled_rows; /* rows whose samples are known */
	uint64_t samples, lost_samples;
	struct pmc_fold_stat outside_mpi; /* see struct pmc_p_thread */
	uint64_t outside_mpi_samples;
	struct pmc_fold_waits waits, delays; /* see struct pmc_p_thread */
	struct pmc_fold_stat *events;	     /* union->set.count */
	struct pmc_ratio *ratios;  /* of the metrics in union->ratios, see pmc_fold_ratio() */
	uint64_t calls;		   /* of a region: entries that ended */
	struct pmc_fold_row *self; /* of a region: without inner ones; else NULL */
	/* By key, from pmc_fold_find(); NULL: a sum of other rows. */
	const struct pmc_fold_group *const *groups;
	struct pmc_fold_row *next;
	UT_hash_handle hh; /* by groups */
};

/* After the last set was added to the union, from whose arena the row's stats come. region: with a
 * row `self`. May be cleared and used again. */
void pmc_fold_init(struct pmc_fold_row *row, const struct pmc_union *u, bool region);
void pmc_fold_clear(struct pmc_fold_row *row, const struct pmc_union *u);
/* `spread`: keep what the standard deviation needs. */
void pmc_fold_add(struct pmc_fold_row *row, struct pmc_union *u, const struct pmc_p_thread *thread,
		  bool spread);
/* Makes the row a sum of this thread alone, which has a state for each event of the union. */
void pmc_fold_one(struct pmc_fold_row *row, struct pmc_union *u, const struct pmc_p_thread *thread);
/* Adds one row of sums to another; the spread is lost. */
void pmc_fold_merge(struct pmc_fold_row *into, const struct pmc_fold_row *row,
		    const struct pmc_union *u);
/* Adds the sums of a part, such as a rank or host, as one value each; one without a name, which
 * comes after the others, is no value beside them, but is in the sums. Minimum, mean, maximum and
 * standard deviation of `into` are then over parts, not threads; `rows` counts parts. `of`: the
 * part. */
void pmc_fold_part(struct pmc_fold_row *into, const struct pmc_fold_row *part,
		   const struct pmc_union *u, const struct pmc_fold_group *of);
/* NULL: nothing. */
void pmc_fold_add_waits(struct pmc_fold_waits *to, struct pmc_arena *arena,
			const struct pmc_p_samples *from);
void pmc_fold_add_value(struct pmc_fold_stat *stat, uint64_t value, bool spread);

/* Private: rows->why before any row without a value. */
#define PMC_WHY_NONE 0xff
/* State of a sum over `rows` rows. */
static inline enum pmc_state pmc_fold_state(const struct pmc_fold_stat *stat, uint64_t rows)
{
	if (!stat->rows)
		return stat->why == PMC_WHY_NONE ? PMC_NOT_COUNTED : (enum pmc_state)stat->why;
	if (stat->rows < rows + stat->extra)
		return PMC_PARTIAL;
	return stat->scaled ? PMC_SCALED : PMC_COUNTED;
}
/* Of the whole population (divided by n), not of a sample. */
double pmc_fold_stddev(const struct pmc_fold_stat *stat);
/* The sums of the metric's terms, over the rows that have both events; NULL: no set has them. */
struct pmc_ratio *pmc_fold_ratio(const struct pmc_fold_row *row, const struct pmc_union *u,
				 unsigned metric);

/* The same, also of a metric of OS accounting; all zero: not known. */
struct pmc_ratio pmc_fold_metric(const struct pmc_fold_row *row, const struct pmc_union *u,
				 unsigned metric);

/* ---- groups ---------------------------------------------------------------------------- */

/* Rows of wakers, functions, lines, modules and paths are made of samples, by the caller of
 * pmc_report(), which has the names. A waker may also be a key before that of the samples. */
enum pmc_fold_by {
	PMC_BY_NONE, /* threads, or pools if there are many (table) */
#define X(name, alias, value, doc) value,
#include "tools/rows/by.def"
#undef X
};

static inline bool pmc_by_samples(enum pmc_fold_by by)
{
	return by >= PMC_BY_WAKER;
}

enum { PMC_KEYS_MOST = 6 };

struct pmc_fold_group {
	const char *label;
	uint64_t threads;	      /* pmc_fold_find() calls, of one row after another once */
	const struct pmc_p_row *last; /* private, as the next three */
	char name[16];		      /* the first thread's */
	unsigned char name_len;
	bool many_names;		     /* not all threads have that name */
	uint64_t time_ns;		     /* of an interval */
	bool is_nameless;		     /* its threads have no such key, such as no rank */
	const struct pmc_p_process *process; /* of a process or thread; else NULL */
};

struct pmc_fold_entry;

struct pmc_fold_key { /* private */
	enum pmc_fold_by by;
	struct pmc_fold_entry *entries, *last; /* groups by the text of the key */
	struct pmc_fold_entry *pools[64];      /* the first pools */
	unsigned n_pools;
};

struct pmc_fold {
	struct pmc_union *u;
	bool spread;
	bool only_labels; /* rows are keys of samples, without sums */
	/* Set after pmc_fold_begin(): the functions of a stack as text, to fold threads by start
	 * routine and where they were created; NULL: by start routine alone. */
	const char *(*path_of)(const struct pmc_p_stack *stack, void *arg);
	void *path_arg;
	struct pmc_fold_row *rows, *last_row; /* in the order of first appearance */
	uint64_t n_rows;
	struct pmc_fold_key keys[PMC_KEYS_MOST];
	unsigned n_keys;
	struct pmc_fold_row *by_groups, *last_found; /* private */
};

/* Rows are threads that have the same group of each key: those of `outer`, which ends with
 * PMC_BY_NONE (NULL: none), and then `by`, but for one of samples other than PMC_BY_WAKER. */
void pmc_fold_begin(struct pmc_fold *fold, struct pmc_union *u, const unsigned char *outer,
		    enum pmc_fold_by by);
/* The thread's row, without adding to it. */
struct pmc_fold_row *pmc_fold_find(struct pmc_fold *fold, const struct pmc_p_thread *thread);
void pmc_fold_thread(struct pmc_fold *fold, const struct pmc_p_thread *thread);
/* After the last thread: labels the rows. A pool whose threads share one name gets that name. */
void pmc_fold_end(struct pmc_fold *fold);

/* The thread's name as tables show it: "(main)" for the main thread of a job's first process,
 * unless the program renamed it. Up to 16 bytes, not NUL-terminated; the text is the thread's or
 * static. */
const char *pmc_thread_label(const struct pmc_p_thread *thread, size_t *len);
/* Label of its group of --by thread: name and tid. */
void pmc_thread_key(const struct pmc_p_thread *thread, struct pmc_out *out);
/* Of --by process: process ID and program; empty if unknown. */
void pmc_process_key(const struct pmc_p_process *process, struct pmc_out *out);
/* Symbol, or module+offset; empty if unknown. */
void pmc_thread_start(const struct pmc_p_thread *thread, struct pmc_out *out);
const char *pmc_base_name(const char *path);
