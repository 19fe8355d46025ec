/* SPDX-License-Identifier: MIT */
/* view.h - what the views of a profile share. Private to this folder. */
#pragma once

#include "lib/base/json.h"
#include "lib/base/map.h"
#include "tools/rows/fold.h"
#include "tools/rows/metrics.h"
#include "tools/table/table.h"
#include "tools/view/report.h"
#include "lib/dump/words.h"

/* ---- columns ----------------------------------------------------------------------------- */

enum pmc_part {
	PMC_PART_VALUE, /* the value; of a group the sum */
	PMC_PART_MIN,
	PMC_PART_MEAN,
	PMC_PART_MAX,
	PMC_PART_STDDEV,
	PMC_PART_IMBALANCE, /* with --across: maximum / mean */
	PMC_PART_LARGEST,   /* with --across: the rank, host, ... with the maximum */
	PMC_PART_RAW,
	PMC_PART_ENABLED,
	PMC_PART_RUNNING,
	PMC_PART_STATE,
	PMC_PART_SCOPE,
	PMC_PART_SELF, /* of a region: the sum without inner regions */
};

/* struct table_column: its kind is one of these, its part an enum pmc_part, its index a row of
 * columns.def or sample_columns.def, an event, a metric, or the place of a key of --by. */
enum { PMC_COL_FIELD, PMC_COL_CPU, PMC_COL_EVENT, PMC_COL_METRIC, PMC_COL_SAMPLE, PMC_COL_KEY };
/* The index of the column with the text of all keys, where there are several. */
enum { PMC_ALL_KEYS = PMC_KEYS_MOST };
/* In tables, struct table_column.when: with --wide; before the events; behind them. In columns.def
 * also behind them, but hidden earlier or later when the table is too wide. */
enum { NEVER, WIDE, LEAD, USAGE, EXTRA, LAST, ALWAYS, REST };
/* The places of columns of waits: from 1 to this. */
enum { PMC_WAITS_PLACES = 4 };

struct pmc_columns { /* fields, then events, then metrics */
	struct table_column *list;
	unsigned n, n_fields, first_metric;
};

enum {
#define X(name, ...) PMC_FIELD_##name,
#include "tools/view/columns.def"
#undef X
};

enum {
#define X(name, ...) PMC_SAMPLE_##name,
#include "tools/view/sample_columns.def"
#undef X
};

struct pmc_view;

enum pmc_fold_by pmc_key_at(const struct pmc_view *view, unsigned i);
/* All columns that rows of threads, or groups, have. */
void pmc_columns_make(struct pmc_view *view, bool groups, struct pmc_columns *columns);
/* Fits the columns of samples to the event that was chosen. */
void pmc_columns_of_event(const struct pmc_view *view, struct pmc_columns *columns);
/* By name or head; NULL with view->problem set. */
const struct table_column *pmc_columns_find(struct pmc_view *view,
					    const struct pmc_columns *columns, const char *name,
					    size_t len);
/* The columns of options->columns, in that order. 0, or -EINVAL with view->problem set. */
int pmc_columns_choose(struct pmc_view *view, const struct pmc_columns *from,
		       struct pmc_columns *chosen);

/* ---- rows and cells ---------------------------------------------------------------------- */

struct pmc_row {			   /* a line of a view: a thread, a sum, or a function */
	const struct pmc_p_thread *thread; /* NULL: several */
	const struct pmc_fold_row *sums;   /* of the thread, too; NULL: it is of samples */
	const struct pmc_sample_row *sample;
	bool step; /* of a timeline: what the thread did in dt_ns before t_ns */
	uint64_t t_ns, dt_ns;
};

struct pmc_view_samples {
	struct pmc_sample_fold fold;
	const struct pmc_p_event *event; /* NULL: there are no samples */
	const char *others;		 /* names of other events with samples; "" none */
	uint64_t samples, weight, lost, throttled, incomplete, estimated;
	uint64_t timed, timed_samples, timed_ns; /* threads with PMC_SAMPLES_TIMED, and theirs */
	uint64_t value;				 /* of the event, in the same threads */
	bool has_value;				 /* it is known of all */
	bool shared;				 /* it is of all threads of a recording */
	uint64_t period, frequency;		 /* 0: not the same for all */
	char *path;				 /* room for the key of a row */
	size_t path_room;
	/* Rows before --where, and how many of them it selects. */
	uint64_t n_all, n_matches;
	uint64_t selected_total; /* sum of selected rows that are below no other one */
	const bool *selected;	 /* whether each row is; NULL: all are */
	bool whole;		 /* cells have whole paths, also in a table */
};

struct pmc_view {
	struct pmc_profile *profile;
	const struct pmc_report_options *options;
	struct pmc_out *out;
	struct pmc_arena *arena;
	const char **notes; /* by pmc_view_footer() */
	size_t n_notes, notes_room;
	struct pmc_union events;
	const bool *requested;	    /* by column: of a set that is not the default one */
	enum pmc_fold_by by;	    /* of the rows; NONE: threads. Of several keys the last one */
	const unsigned char *outer; /* the keys before it, ended by PMC_BY_NONE */
	unsigned n_outer;
	struct pmc_p_row **rows; /* the threads that --where selects */
	uint64_t n_rows;
	struct table_condition *conditions, *row_conditions; /* --where: of threads; of samples */
	unsigned n_where, n_row_where;
	struct pmc_p_thread *regions; /* a thread for each region of these */
	uint64_t n_regions;
	struct pmc_fold groups;
	/* --by thread: each thread is a group, which is made when it is the current row. */
	bool threads_apart;
	struct pmc_view_samples samples;
	struct pmc_columns of_threads, of_groups;
	bool *json_events;	 /* by column: whether JSON has the event */
	struct pmc_fold_row one; /* the thread that is the current row */
	int clock_event;  /* counts every row's CPU time in place of the accounting; -1: none */
	double whole_cpu; /* 100 % */
	const struct pmc_p_process *first;
	const char *problem; /* in the profile's arena */
	char text[512];
	char *keys; /* text of PMC_ALL_KEYS */
	size_t keys_room;
};

/* The thread as a row; `row` is good as long as the thread and until the next row is made. */
void pmc_row_of(struct pmc_view *view, const struct pmc_p_thread *thread, struct pmc_row *row);
struct table_cell pmc_cell(struct pmc_view *view, const struct table_column *column,
			   const struct pmc_row *row);

/* ---- choosing and ordering rows ---------------------------------------------------------- */

/* 0, or -EINVAL with view->problem set. */
int pmc_view_select(struct pmc_view *view);
/* Keeps the rows of samples that meet the conditions; of paths those through a function, with their
 * callers (bottom-up: what they called) in a table. */
void pmc_view_select_rows(struct pmc_view *view);
/* -ENOENT with view->problem set if no row meets the conditions; else 0. */
int pmc_view_check_selection(struct pmc_view *view);
/* The conditions as text: those of threads, or of rows of samples. */
void pmc_view_conditions(struct pmc_view *view, bool of_rows);

struct pmc_row_buf {
	struct pmc_thread_buf now, before;
	struct pmc_p_thread step;
	struct pmc_count counts[PMC_SET_EVENTS_MAX];
};

struct pmc_lines {
	struct pmc_view *view;
	bool groups;
	const void **list;  /* sums of groups, rows of samples, or places in view->rows */
	uint64_t n, all;    /* shown; with those beyond --top */
	struct pmc_row row; /* the current one */
	struct pmc_row_buf buf;
	/* With view->threads_apart, of the current row. */
	struct pmc_fold_group group;
	const struct pmc_fold_group *group_list[1];
	char group_label[40];
};
/* Groups, threads or the steps of a timeline in the order in which they are shown: by
 * options->sort, then by CPU time (numbers downwards, text upwards, null last, equals in their
 * order), steps host by host in the order of time. 0, or -EINVAL with view->problem set. */
int pmc_view_lines(struct pmc_view *view, bool groups, struct pmc_lines *lines);
/* For a struct table whose `arg` is the lines. Behind all lines is one for each process with uncore
 * events. */
void pmc_line_row(void *lines, uint64_t i);
struct table_cell pmc_line_cell(void *lines, const struct table_column *column);
void pmc_view_histograms(struct pmc_lines *lines);
/* The work of the thread of an entry of view->rows since the snapshot before. */
void pmc_view_step(struct pmc_view *view, struct pmc_p_row *const *at, struct pmc_row_buf *buf,
		   struct pmc_row *row);

/* ---- what is known beside the rows ------------------------------------------------------- */

struct pmc_coverage {
	uint64_t processes, hosts, runs;
	uint64_t cpu_ns, attributed_cpu_ns;
	uint64_t overhead_ns; /* without the kernel's work for events at switches and samples */
	uint64_t rowless_ns;  /* of cpu_ns, of processes without any row */
	uint64_t cut_ns;   /* of cpu_ns, in no row of processes whose end the agent did not see */
	uint64_t exits_ns; /* of cpu_ns, known work of the kernel at the end of processes */
	bool has_waits;	   /* of --off-cpu */
	uint64_t wall_ns;  /* for which counting was on; 0: unknown */
	uint64_t off_ns;   /* of the process for which it was off the longest */
	uint64_t threads_seen, threads_counted, threads_uncounted;
	uint64_t ended_elsewhere; /* threads whose rows are in another dump */
	uint64_t shown_cpu_ns; /* of the view's threads, in a table also of what is beside them */
	uint64_t selected, selected_processes; /* threads of the view, and their processes */
	uint64_t selected_hosts;
	uint64_t unseen_ends;		    /* processes whose rows are newer than they are */
	const struct pmc_p_process *unseen; /* one of them */
	uint64_t open_ends;		    /* processes that are known up to a snapshot only */
	const struct pmc_p_process *open;   /* one of them */
	/* Processes that ended before their children, of which no end is in the dump. */
	uint64_t left;
	bool has_unattributed, has_descendants;
	bool usage_unknown; /* faults and switches of some process as a whole */
	bool recorded;	    /* by pmctl profile, which has a row for each thread */
	bool lacks_rows;    /* there may have been more threads than are known */
	bool has_cpu;	    /* counting was on in some thread of the view */
	bool least_cpu;	    /* that of some threads is missing or a lower bound */
	bool has_earlier;   /* rows of threads that ended before a reset: not in wall_ns */
	struct pmc_fold_row unattributed, descendants; /* rows that are no threads */
};
void pmc_view_coverage(struct pmc_view *view, struct pmc_coverage *coverage);
/* Upper bound of the kernel's work at the start and end of threads, 100 us each (usually 30 us),
 * and at the end of processes. */
static inline uint64_t pmc_coverage_ends_ns(const struct pmc_coverage *coverage)
{
	return coverage->exits_ns + coverage->threads_seen * 100000;
}
/* Whether it has ended, as far as this machine knows, although the dump does not say so. */
bool pmc_process_is_gone(const struct pmc_p_process *process);

/* Prints rows 0 to n by `put`, in options->jobs processes if there are many. `rows`, all it changes
 * but for view->out, is the same behind each row. 0, or -ENOENT with view->problem set. */
typedef void pmc_put_row(void *rows, uint64_t i);
int pmc_print_rows(struct pmc_view *view, uint64_t n, pmc_put_row *put, void *rows);

/* ---- the views --------------------------------------------------------------------------- */

int pmc_view_table(struct pmc_view *view);
/* A document; or, as JSON lines, its processes, threads (or groups) and regions with their type. */
int pmc_view_json(struct pmc_view *view);
int pmc_view_csv(struct pmc_view *view);
/* Rates over time, a line for each thread or group. */
int pmc_view_timeline(struct pmc_view *view);
void pmc_view_regions(struct pmc_view *view);
/* The samples of the selected threads, folded, with the columns of their rows. */
int pmc_view_sample_rows(struct pmc_view *view);
struct table_cell pmc_sample_cell(struct pmc_view *view, unsigned column,
				  const struct pmc_sample_row *row);
/* Its key, of paths as flame graphs have it: from the outermost caller on. */
struct table_cell pmc_sample_key_cell(struct pmc_view *view, const struct pmc_sample_row *row);
/* Of paths the heaviest branches (options->top), still in the order of the tree. A branch is a row
 * that has siblings or no caller, and the rows below it for as long as each has one callee. */
void pmc_sample_top(struct pmc_view *view, struct pmc_lines *lines);
int pmc_view_sample_table(struct pmc_view *view);
/* Lines `pool;function;function count`, as flame graph tools read them. */
int pmc_view_folded(struct pmc_view *view);
/* Index of the first or last event that counts it in user and kernel mode; -1: none. */
int pmc_view_software(const struct pmc_view *view, uint64_t config, bool last);

/* Why the event is refused on this machine, as every command says it. False: the report may be of
 * another machine. */
struct pmc_advice;
bool pmc_view_advise(const struct pmc_view *view, const struct pmc_event_def *def, uint32_t error,
		     struct pmc_advice *advice);

struct pmc_footer {
	const struct pmc_fold_row *all; /* sum of all rows, to tell what is empty */
	const struct pmc_coverage *coverage;
	const char *hidden;		/* names of columns that did not fit; "" for none */
	const char *sums;		/* labels of the last rows, if no column has them; or "" */
	bool partial, estimate, scaled; /* marks that the table has */
	bool usage;			/* it has columns of faults or switches, no events */
};
/* How far processes are known whose end is not in the dump; nothing if there are none. */
void pmc_view_open_ends(const struct pmc_view *view, const struct pmc_coverage *coverage,
			struct pmc_out *out);
/* Makes view->notes. */
void pmc_view_footer(struct pmc_view *view, const struct pmc_footer *footer);
/* Prints them, wrapped at the screen's width. */
void pmc_view_put_notes(const struct pmc_view *view);
#define pmc_say(view, ...) table_say((view)->out, &(view)->options->screen, __VA_ARGS__)
/* Its command line without the directories of the program, which tell little; "" if unknown. */
const char *pmc_view_command(const struct pmc_p_process *process);
/* That of all threads of the row, whose keys say so; NULL: there may be several. */
const struct pmc_p_process *pmc_row_process(const struct pmc_view *view, const struct pmc_row *row);

/* ---- tables ------------------------------------------------------------------------------ */

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
	const char **arguments; /* of the lines: those in which rows of one program differ */
	struct table_column *columns;
	unsigned n;
	const struct table_column *labels; /* has those of sums; NULL: no column of text */
	struct table print;
};

/* Completes `coverage` for title and footer where the lines are not those of threads. */
void pmc_table_sum(struct pmc_table *table, struct pmc_coverage *coverage);
void pmc_table_title(struct pmc_view *view, const struct pmc_coverage *coverage);
/* Chooses the columns and lays them out. 0, or -EINVAL with view->problem set. */
int pmc_table_make(struct pmc_table *table);
/* "(17 more)": lines beyond those that are shown. */
const char *pmc_more(const struct pmc_lines *lines);
static inline bool pmc_is_sample_key(const struct pmc_view *view, const struct table_column *column)
{
	return column->kind == PMC_COL_KEY && pmc_key_at(view, column->index) >= PMC_BY_FUNCTION;
}
/* A cell of table->rest. */
struct table_cell pmc_sample_rest(struct pmc_table *table, const struct table_column *column);
/* The label of the last row made, which is a line of a tree. */
struct table_cell pmc_table_branch(struct pmc_table *table);
/* Title (of samples the caller puts it), table and footer in the format. */
void pmc_table_put(struct pmc_table *table, struct pmc_footer *footer);
