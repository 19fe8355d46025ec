/* SPDX-License-Identifier: MIT */
/* view.h - what the views of a profile share; private to report*.c. */
#ifndef PMC_CORE_REPORT_VIEW_H
#define PMC_CORE_REPORT_VIEW_H

#include "agent/core/profile/fold.h"
#include "agent/core/base/json.h"
#include "agent/core/profile/metrics.h"
#include "agent/core/report/report.h"

struct pmc_view {
	struct pmc_profile *profile;
	const struct pmc_report_options *options;
	struct pmc_out *out;
	struct pmc_arena *arena;
	struct pmc_union events;
	struct pmc_p_row **threads; /* the rows: in scope, and as --where has it */
	uint64_t n_threads;
	struct pmc_p_thread **regions; /* a row for each region of these threads */
	uint64_t n_regions;
	struct pmc_fold groups;	     /* of the rows, if `by` is set */
	struct pmc_fold_row scratch; /* a single thread as a row */
	struct pmc_thread_buf buf;
	struct pmc_count *counts;    /* one per column, of the row counts_of */
	const struct pmc_fold_row *counts_of;
	bool counts_whole;
	bool *metric_applies; /* one per metric */
	const struct pmc_p_process *first;
	const char *problem;
	char text[512];
};

/* ---- cells: one value of a row ------------------------------------------------------- */
struct pmc_cell {
	enum { PMC_CELL_NULL, PMC_CELL_NUMBER, PMC_CELL_REAL, PMC_CELL_TEXT } kind;
	uint64_t number;
	double real;
	const char *text; /* of the profile, or view->text: good until the next cell */
	size_t len;
};

enum pmc_part {
	PMC_PART_VALUE, /* the value; of a group the sum */
	PMC_PART_MIN,
	PMC_PART_MEAN,
	PMC_PART_MAX,
	PMC_PART_STDDEV,
	PMC_PART_RAW,
	PMC_PART_ENABLED,
	PMC_PART_RUNNING,
	PMC_PART_STATE,
	PMC_PART_SELF, /* of a region: the sum without inner regions */
};

/* What CSV and --sort call the parts of an event: NAME and the suffix. The last group part is of
 * regions only. */
struct pmc_part_name {
	const char *suffix;
	enum pmc_part part;
};
extern const struct pmc_part_name pmc_thread_parts[], pmc_group_parts[];
extern const unsigned pmc_n_thread_parts, pmc_n_group_parts;

struct pmc_ref { /* a column by name */
	enum { PMC_REF_FIELD, PMC_REF_GROUP, PMC_REF_EVENT, PMC_REF_METRIC } kind;
	unsigned index;
	enum pmc_part part;
};

/* The fields of fields.def. */
extern const char *const pmc_thread_fields[];
extern const unsigned pmc_n_thread_fields;
bool pmc_field_in_csv(unsigned field);
bool pmc_field_in_json(unsigned field);
extern const char *const pmc_group_fields[];
extern const unsigned pmc_n_group_fields;
/* How many of pmc_group_parts this view's groups have. */
unsigned pmc_view_group_parts(const struct pmc_view *view);

/* Finds a column of the thread rows, or of the groups. -EINVAL with view->problem set. */
int pmc_ref_find(struct pmc_view *view, bool groups, const char *name, size_t len,
		 struct pmc_ref *ref);
struct pmc_cell pmc_cell_field(struct pmc_view *view, unsigned field,
			       const struct pmc_p_thread *thread);
struct pmc_cell pmc_cell_row(struct pmc_view *view, const struct pmc_ref *ref,
			     const struct pmc_fold_row *row);
struct pmc_cell pmc_cell_thread(struct pmc_view *view, const struct pmc_ref *ref,
				const struct pmc_p_thread *thread);
struct pmc_cell pmc_cell_stat(const struct pmc_fold_stat *stat, double scale, enum pmc_part part,
			      uint64_t rows);
/* The row unpacked, good until the next. */
const struct pmc_p_thread *pmc_view_thread(struct pmc_view *view, const struct pmc_p_row *row);
/* The thread as a row of its own, in view->scratch. */
const struct pmc_fold_row *pmc_view_row(struct pmc_view *view, const struct pmc_p_thread *thread);
/* A metric of a row; false: null. wall_ns 0: the row's own. */
bool pmc_view_metric(struct pmc_view *view, unsigned metric, const struct pmc_fold_row *row,
		     uint64_t wall_ns, double *value);

/* ---- choosing and ordering rows ------------------------------------------------------- */
int pmc_view_select(struct pmc_view *view);
/* How many rows a view shows: 0 is all. */
uint64_t pmc_view_top(const struct pmc_view *view);
/* Rows by options->sort (default CPU time; numbers downwards, text upwards, null last, equals as
 * they came), the first `limit` (0: all). */
int pmc_view_threads(struct pmc_view *view, uint64_t limit, struct pmc_p_row ***list,
		     uint64_t *n);
int pmc_view_groups(struct pmc_view *view, const struct pmc_fold *groups, uint64_t limit,
		    const struct pmc_fold_row ***list, uint64_t *n);
bool pmc_view_in_scope(const struct pmc_view *view, const struct pmc_p_process *process);

/* ---- what is known beside the rows ----------------------------------------------------- */
/* Sums over the processes in scope. */
struct pmc_ledger {
	uint64_t processes, hosts;
	uint64_t cpu_ns, attributed_cpu_ns, overhead_ns, wall_ns; /* wall 0: unknown */
	uint64_t threads_seen, threads_counted, threads_uncounted;
	uint64_t others, others_cpu_ns; /* processes out of scope */
	uint64_t unseen_ends;		/* processes whose rows are newer than they are */
	bool has_unattributed, has_descendants;
	struct pmc_fold_row unattributed, descendants; /* rows that are no threads */
};
/* Whether a process has rows newer than anything it said of itself: killed, or gone past libc.
 * *newest_ns gets the time of the last that is known of it. */
bool pmc_view_end_unseen(const struct pmc_p_process *process, uint64_t *newest_ns);
int pmc_view_ledger(struct pmc_view *view, struct pmc_ledger *ledger);

/* ---- the views ------------------------------------------------------------------------- */
int pmc_view_table(struct pmc_view *view);
int pmc_view_json(struct pmc_view *view);
int pmc_view_csv(struct pmc_view *view);
int pmc_view_timeline(struct pmc_view *view);
/* The regions of the threads that were selected, as rows. */
int pmc_view_regions(struct pmc_view *view);
void pmc_view_json_regions(struct pmc_view *view, struct pmc_json *json);
void pmc_view_region_remarks(struct pmc_view *view);
void pmc_view_json_event(struct pmc_json *json, const struct pmc_p_event *event,
			 const struct pmc_count *count);
void pmc_view_csv_text(struct pmc_out *out, const char *text, size_t len);
void pmc_view_csv_events(struct pmc_view *view, const struct pmc_fold_row *row);
void pmc_view_csv_cell(struct pmc_out *out, const struct pmc_cell *cell);

/* The next snapshot as what happened since the one before it of the same thread: all zero is
 * before the first. */
struct pmc_steps {
	struct pmc_thread_buf now, before;
	struct pmc_p_thread thread;
	struct pmc_count counts[PMC_SET_EVENTS_MAX];
	uint64_t at, t_ns, dt_ns;
};
bool pmc_steps_next(struct pmc_view *view, struct pmc_steps *steps);

/* The word of by.def; "" for none. */
const char *pmc_by_name(enum pmc_report_by by);

/* ---- words and numbers of a table ------------------------------------------------------ */
const char *pmc_thread_state_name(unsigned state);
const char *pmc_scope_name(unsigned scope);
void pmc_show_number(struct pmc_out *out, double value);    /* 1.71G, 61,220 */
void pmc_show_integer(struct pmc_out *out, uint64_t value); /* 9,980, however long */
void pmc_show_time(struct pmc_out *out, double ns);
void pmc_show_percent(struct pmc_out *out, double percent);

/* ---- the table ---------------------------------------------------------------------------- */
#define PMC_TABLE_COLUMNS 100

struct pmc_line {
	const char *label; /* NULL: the thread's */
	uint64_t times;	   /* behind the label, if > 1 */
	const struct pmc_p_thread *thread; /* of a timeline */
	const struct pmc_p_row *packed;	   /* of a thread, else NULL */
	const struct pmc_fold_row *row;	   /* NULL: the thread alone */
	uint64_t t_ns, dt_ns;		/* of a timeline */
	bool dim;
};

struct pmc_table_column {
	enum pmc_table_kind {
		PMC_COL_LABEL,
		PMC_COL_HOST,
		PMC_COL_PID,
		PMC_COL_TID,
		PMC_COL_AT,
		PMC_COL_DT,
		PMC_COL_THREADS,
		PMC_COL_CALLS,
		PMC_COL_SELF,
		PMC_COL_CPU,
		PMC_COL_SHARE,
		PMC_COL_EVENT,
		PMC_COL_METRIC,
		PMC_COL_SWITCHES,
		PMC_COL_FAULTS,
		PMC_COL_RAN,
	} kind;
	unsigned index;
	enum pmc_part part;
	char head[112];
	int width;
	/* Who goes first when the table is too wide: 1 before 2; 0 stays. */
	unsigned char drop;
	bool hidden;
};

#define PMC_TABLE_MAX (PMC_UNION_MAX * 6 + 64)

struct pmc_table {
	struct pmc_view *view;
	struct pmc_table_column *columns;
	unsigned n;
	const struct pmc_fold_row *all; /* sum of all rows, to tell what is empty */
	uint64_t cpu_ns;		/* 100 % */
	int gap;			/* spaces between columns */
	int label_width;		/* labels are cut to it; 0: not */
	bool scaled, partial;		/* such cells were made */
};

/* Columns that have something to show, as far as they fit. */
int pmc_table_columns(struct pmc_table *table, const struct pmc_fold_row *all, uint64_t cpu_ns);
void pmc_table_measure(struct pmc_table *table, const struct pmc_line *line);
void pmc_table_fit(struct pmc_table *table);
void pmc_table_head(struct pmc_table *table);
void pmc_table_line(struct pmc_table *table, const struct pmc_line *line);
/* What the row is, as a row of sums: its own, or the thread alone. */
void pmc_table_cell(struct pmc_table *table, const struct pmc_table_column *column,
		    const struct pmc_line *line, const struct pmc_fold_row *row,
		    struct pmc_out *out);

/* Lines about what counts for the whole machine; as rows in CSV. */
void pmc_view_machine(struct pmc_view *view);
void pmc_view_machine_csv(struct pmc_view *view);

/* The lines under the table: coverage, what is missing and why, notes. */
void pmc_view_remarks(struct pmc_view *view, const struct pmc_table *table,
		      const struct pmc_ledger *ledger);

#endif
