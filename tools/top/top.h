/* SPDX-License-Identifier: MIT */
/*
 * top.h - pmctl top: what is watched, its rows, and how they are shown. Private to this folder.
 *
 * scan.c finds processes and threads and reads them (struct top_watch), events.c their events and
 * agents, waits.c records of their switches; rows.c folds them into rows, filters and sorts these;
 * columns.c makes cells and lays them out, which cmd_top.c prints and screen.c draws, keys.c and
 * zoom.c with it.
 */
#pragma once

#include "lib/base/hash.h"
#include "lib/base/histogram.h"
#include "tools/attach/agent.h"
#include "tools/cli/rows.h"
#include "tools/live/events.h"
#include "tools/live/wait.h"
#include "tools/live/task.h"

#include <limits.h>
#include <pmc/record.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum top_by { TOP_AUTO, TOP_THREAD, TOP_POOL, TOP_PROCESS };

struct top_flags {
	bool all, batch, reverse, commands, waits;
	char **cmd;	  /* NULL: none */
	const char *pids; /* a list of process IDs; NULL: none */
	const char *name; /* of programs; NULL: none */
	const char *events, *output, *filter;
	struct tool_rows rows;
	uint64_t interval_ns, count; /* 0: no end */
	enum top_by by;
};

/* ---- scan.c: processes and threads ---------------------------------------------------------- */

/* Slots of the last minute: seconds or longer intervals, and the present one. */
#define TOP_HISTORY	61
#define TOP_SLOTS_BYTES ((TOP_HISTORY - 1) * sizeof(uint32_t))

#define TOP_COMMAND 200 /* bytes of a command line that are kept */
#define TOP_ROUTINE 48	/* bytes of the name of a start routine */

struct top_task {
	struct live_task task;
	struct top_process *process;
	uint64_t number;				     /* never used again, unlike the ID */
	uint32_t cpu_us[TOP_HISTORY], delay_us[TOP_HISTORY]; /* the present slot first */
	bool born;		   /* in the last interval, or found in it */
	unsigned looks;		   /* for its slot, in vain */
	bool has_slot;		   /* of the process's agent */
	char start[TOP_ROUTINE];   /* start routine; "": unknown */
	struct live_groups groups; /* of the plan */
	struct pmc_count *counts;  /* of the view, in the last interval; NULL: none */
};

struct top_process {
	pid_t pid;
	char name[LIVE_NAME];	   /* of its main thread */
	char command[TOP_COMMAND]; /* its arguments, while they are shown; "": a kernel thread */
	struct top_task **tasks;   /* ascending IDs */
	unsigned n;
	struct attach *agent; /* NULL: none, or not found yet */
	unsigned scans;	      /* since its start, or since it changed its name */
	bool lost;	      /* it had an agent before an exec, which is not yet said */
	bool refused;	      /* its agent cannot be used */
	uint64_t clock_ns;    /* after its threads were read; 0: unknown */
	uint64_t ended_ns;    /* in the last interval: CPU time that no thread's row has */
	uint64_t waited_ns;   /* CPU time of children that it has waited for */
	bool seen, root;
	UT_hash_handle hh; /* by pid, in the order in which they were found */
};

struct top_watch {
	const struct top_flags *flags;
	struct pmc_arena arena; /* of the events */
	struct pmc_arena table; /* of the processes */
	struct live_budget budget;
	struct live_tids tids;
	struct top_process *processes;
	unsigned n, n_tasks;
	uint64_t numbers;	    /* of threads ever seen */
	struct pmc_map pools;	    /* their names; in `table` */
	uint64_t now_ns, before_ns; /* of the last scans; before_ns 0: only one so far */
	unsigned slots;		    /* of the histories, that are in use beside the present one */
	/* CPU time of children that ended in the last interval and have no row any more; what is
	 * carried to the next interval. */
	uint64_t children_ns;
	int64_t children_carry_ns;
	uint32_t children_us[TOP_HISTORY]; /* children_ns, the present slot first */
	uint64_t slot_ns, slot_used_ns; /* length of a slot; how much of the present one is over */
	struct top_waits *waits;	/* --waits; NULL: none */
	struct live_events live;	/* view.count 0: no events; view.hash: those of an agent */
	int error;			/* of events: the first failure to open one */
	bool commands;			/* command lines are read and shown */
	unsigned agents;		/* processes whose agent is used */
	struct symbols *symbols;	/* of start routines; NULL: none yet */
	char note[ATTACH_WHY];		/* why an agent is not used, until it is shown */
};

/* child: the command's process; 0: none. 0, or the exit code after printing the error. */
int top_watch_start(struct top_watch *watch, const struct top_flags *flags, pid_t child);
/* The next interval. False: what was watched has ended. */
bool top_watch_scan(struct top_watch *watch);
/* After a pause: a reading that begins an interval, but ends none. */
void top_watch_skip(struct top_watch *watch);
void top_watch_stop(struct top_watch *watch);
/* The first process that was asked for, and how many of them there are. NULL: none. */
const struct top_process *top_first_root(const struct top_watch *watch, unsigned *roots);
/* Shows the command lines of processes, or no longer. */
void top_watch_commands(struct top_watch *watch, bool shown);

/* events.c: of each thread */
int top_events_plan(struct top_watch *watch);
void top_events_open(struct top_watch *watch, struct top_task *task);
void top_events_read(struct top_watch *watch, struct top_task *task);
void top_events_close(struct top_task *task);

/* waits.c: lengths of waits, by records of switches */
struct top_lengths {
	struct pmc_histogram waits, delays; /* delays: for a CPU, after preemptions */
};

/* Of what is watched. 0, or the exit code after a message. */
int top_waits_start(struct top_watch *watch);
struct top_waits *top_waits_new(void);
void top_waits_take(struct top_waits *waits, const struct pmc_record *record);
/* Takes the records that there are. This and the following accept NULL. */
void top_waits_read(struct top_waits *waits);
/* Ends the interval. */
void top_waits_step(struct top_waits *waits);
/* Adds those of a thread that ended in the last interval. */
void top_waits_add(const struct top_waits *waits, pid_t tid, struct pmc_arena *arena,
		   struct top_lengths *to);
/* Records that the rings had no room for: since the start, and in the last interval. */
uint64_t top_waits_lost(const struct top_waits *waits);
uint64_t top_waits_lost_now(const struct top_waits *waits);
void top_waits_free(struct top_waits *waits);

/* the agent: before and after the threads of a process are read */
void top_agent_find(struct top_watch *watch, struct top_process *process);
void top_agent_threads(struct top_watch *watch, struct top_process *process);

/* ---- rows.c ------------------------------------------------------------------------------- */

struct top_row {
	uint64_t key; /* the same in the next interval */
	const char *name;
	const struct top_task *task; /* of a row of one thread; else NULL */
	bool children;		     /* that ended: nothing but their CPU time is known */
	const char *command;	     /* of the process; NULL: several */
	pid_t pid;		     /* 0: several */
	unsigned threads, known;     /* in all; with an interval */
	struct live_span span;
	uint64_t ns;		 /* the interval, once for each thread; span.ns: only its life */
	char start[TOP_ROUTINE]; /* start routine of all; "": they differ, or it is unknown */
	unsigned states[128];	 /* number of threads in each state */
	struct live_place places[LIVE_PLACES];
	struct pmc_count *counts; /* of the view */
	struct top_lengths lengths;
	uint32_t cpu_us[TOP_HISTORY];
	UT_hash_handle hh;
};

/* The view, as keys and flags have it. */
struct top_look {
	enum top_by by;
	char sort[96]; /* name of a column */
	bool reverse;
	char filter[64];
	uint64_t only; /* row key of a pool or process whose threads are shown; 0: all */
	enum top_by only_by;
	char only_name[LIVE_NAME];
	enum top_by outer_by;  /* of the rows among which that pool or process is */
	char outer_filter[64]; /* of these */
};
/* Shows only the threads of a pool or process, all of them: the filter is for rows beside it. */
void top_look_inside(struct top_look *look, const struct top_row *row);
/* Shows all rows again, by the filter that they had. */
void top_look_outside(struct top_look *look);

struct top_rows {
	struct pmc_arena arena;
	struct top_row *by_key;	  /* in the order of their first threads */
	struct top_row **list;	  /* those that are shown */
	unsigned n, hidden;	  /* hidden: by filters and conditions */
	struct live_span sum;	  /* of all threads watched */
	uint64_t cpu_ns, wall_ns; /* of all processes, ended threads too */
	const char *sort;	  /* look->sort; of a column that such rows lack "cpu" */
};

void top_rows_make(struct top_rows *rows, struct top_watch *watch, const struct top_look *look);
/* Threads, pools or processes, by what there is. */
enum top_by top_usual_by(const struct top_watch *watch);

/* ---- columns.c ---------------------------------------------------------------------------- */

enum top_column {
#define X(id, ...) TOP_##id,
#include "tools/top/columns.def"
#undef X
	TOP_COLUMNS
};

/* Those that such rows have, for a screen of that width; the history is last. Data have the time,
 * too. */
#define TOP_DATA INT_MAX
struct table_column *top_columns(const struct top_watch *watch, const struct top_look *look,
				 int width, struct pmc_arena *arena, unsigned *n);

struct top_source {
	const struct top_watch *watch;
	const struct top_rows *rows;
	const struct top_row *row; /* the current one */
	unsigned first;
	int history; /* width of the history */
	bool ascii;
};
struct table_cell top_cell(void *arg, const struct table_column *column);
struct table top_table(struct top_source *source, struct pmc_arena *arena);
/* The last n slots before the present one as characters, the newest at the right; most: the value
 * of a full one. */
void top_put_sparkline(const uint32_t *us, unsigned n, uint64_t most, bool ascii,
		       struct pmc_out *out);

/* Moved only before top_layout_make(). */
struct top_layout {
	struct pmc_arena arena;
	struct table table;
	struct top_source source;
	unsigned left_out; /* columns that do not fit */
};

struct top_job;
/* The columns that fit, the more important ones first. */
void top_layout_make(struct top_layout *layout, const struct top_job *job, unsigned first,
		     unsigned n_rows, int width);

/* ---- outputs ------------------------------------------------------------------------------- */

struct top_job {
	struct top_flags flags;
	struct top_watch watch;
	struct top_look look;
	struct top_rows rows;
	struct tool_child child;
	struct live_wait wait;
	uint64_t next_ns; /* when the interval ends */
	bool counted;	  /* all readings of -n are done: a command goes on alone */
};

/* Reads all threads and makes the rows. False: what was watched has ended. */
bool top_step(struct top_job *job);
enum live_event top_wait(struct top_job *job);

int top_screen(struct top_job *job);
/* A line about all that is watched, the more important parts first. */
void top_put_title(const struct top_job *job, bool ascii, struct pmc_out *out);
/* Title and table, as plain text or Markdown. */
void top_put_table(const struct top_job *job, int width, unsigned most, struct pmc_out *out);
/* Rows as CSV, with or without its head, or JSON lines. */
void top_put_data(const struct top_job *job, enum table_format format, bool first,
		  struct pmc_out *out);

/* ---- the screen: keys.c, zoom.c ------------------------------------------------------------- */

enum top_view { TOP_TABLE, TOP_ZOOM, TOP_HELP, TOP_HELP_COLUMNS };
enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_CSV, TOP_ASK_DUMP };

/* The agent's data of the thread that is shown alone. */
struct top_inside {
	uint64_t number; /* of the thread; 0: none */
	uint64_t read_ns;
	char text[8192];	     /* counts and marked regions */
	struct pmc_profile *profile; /* of the last reading; NULL: none */
};

struct top_screen {
	struct top_job *job;
	enum top_view view;
	uint64_t zoomed;   /* number of the thread */
	uint64_t selected; /* key of a row; 0: none */
	unsigned first;	   /* row at the top */
	unsigned height;   /* rows that there is room for */
	bool paused, quit;
	bool ending;	   /* the command has got SIGTERM: its end is waited for */
	char message[256]; /* until the next key */
	enum top_prompt prompt;
	pid_t asked; /* process to dump */
	char input[256];
	struct top_layout layout;
	struct top_inside inside; /* of `zoomed` */
};

/* Applies a key of <ncurses.h>. */
void top_press(struct top_screen *screen, int key);
/* The row of the selection, or the first one; UINT_MAX: there are no rows. */
unsigned top_selected(const struct top_screen *screen);
/* Rows after a change of what is shown. */
void top_remake(struct top_screen *screen);
/* One page, keys or columns, of at most 23 lines. */
void top_put_help(const struct top_screen *screen, struct pmc_out *out);

/* Reads the agent's data of the thread that is shown alone anew. */
void top_inside_read(struct top_screen *screen);
void top_inside_close(struct top_inside *inside);
void top_put_zoom(const struct top_screen *screen, struct pmc_out *out);
