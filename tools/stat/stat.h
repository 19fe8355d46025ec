/* SPDX-License-Identifier: MIT */
/* stat.h - pmctl stat: target, groups, rows of sums, and their output. Private to this folder. */
#pragma once

#include "lib/base/out.h"
#include "tools/cli/rows.h"
#include "tools/live/events.h"
#include "tools/live/wait.h"
#include "tools/live/task.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define STAT_CPUS 8192u /* NR_CPUS of the largest kernels */

enum stat_target { STAT_COMMAND, STAT_PROCESS, STAT_THREAD, STAT_MACHINE };
enum stat_by { BY_TOTAL, BY_THREAD, BY_POOL, BY_CPU, BY_CORE, BY_SOCKET, BY_NODE };

/* The identity of a row; -1: not part of it. */
struct stat_key {
	int cpu, core, socket, node, tid;
};
#define STAT_NO_KEY ((struct stat_key){ -1, -1, -1, -1, -1 })

/* A printed line: the total, what is counted on CPUs, a thread, or the sum of several. */
struct stat_row {
	struct stat_key key;
	struct live_task task;	   /* of one thread alone; pid 0: none */
	const char *name;	   /* of the thread or pool; NULL: neither */
	const char *label;	   /* of sums, in tables: in the first column of the key */
	unsigned threads;	   /* of a pool; 0: no pool */
	uint64_t pool;		   /* its key */
	UT_hash_handle hh;	   /* by that key, or by its own */
	struct live_groups groups; /* whose counts it sums; of a thread, or on CPUs */
	/* Since the start, and then at the last step; ns of an interval 0: no more than CPU time is
	 * known. */
	struct live_span sum, before;
	struct live_span span;		       /* of the last interval, or since the start */
	struct live_place places[LIVE_PLACES]; /* since the start */
	bool seen;		  /* in the last scan: of a thread alive, of a CPU online */
	bool ended;		  /* of a thread: another one may have its ID */
	bool shown;		  /* seen at any time in this interval */
	bool later;		  /* of a thread: it has started since the start */
	struct pmc_count *counts; /* of each event of the view: last interval, or since the start */
	/* task-clock since the start, 0: not counted; at the last step and the last reading */
	uint64_t clock_ns, clock_before_ns, clock_read_ns;
	uint64_t ran_ns, ran_clock_ns; /* CPU time since the start, by both; that clock then */
	/* Of a later thread: CPU time before its events were opened; its switches then */
	uint64_t missed_ns, missed_switches;
	bool lacks_counts; /* a sum with threads of which only CPU time is known: they ended */
};

struct stat_process {
	pid_t pid;
	uint64_t cpu_ns; /* as it was last read */
	char program[LIVE_NAME];
	bool ended; /* another one may have its ID */
};

struct stat_job {
	struct pmc_arena arena;
	/* flags */
	struct tool_rows output;
	enum stat_target target;
	enum stat_by by;
	const char *pids, *name; /* of -p and --name */
	pid_t pid;		 /* of the first process, or the thread */
	pid_t tid;		 /* of -t */
	bool machine;
	char **cmd;
	const char *events;
	const char *cgroup; /* NULL: none; else the target is the machine */
	int cgroup_fd;
	uint64_t interval_ns, count;
	uint64_t duration_ns; /* of one interval, which is the summary; 0: until the target ends */
	bool cumulative, clear;
	const char *prometheus; /* the file; NULL: none */
	struct stat_prometheus *exposition;

	struct live_events live;

	/* what is counted */
	struct stat_process *processes; /* or the thread of -t */
	unsigned n_processes;
	struct stat_row **rows; /* [0]: the total; in the order in which they were found */
	unsigned n_rows;
	size_t rows_room;
	struct pmc_map pools;		       /* their names */
	struct stat_row *by_key;	       /* those that have not ended */
	uint64_t dropped_ns, dropped_clock_ns; /* CPU time of such rows, by both clocks */
	struct stat_row rest;		       /* CPU time of a process that no row has */
	unsigned clock;			       /* task-clock in the plan; UINT_MAX: not counted */
	uint64_t process_ns;	   /* CPU time of the processes at begin_ns; 0: unknown */
	uint64_t read_ns;	   /* when threads were looked for and read last; 0: never */
	struct live_budget budget; /* of files of threads */
	unsigned alive;		   /* rows of threads in the last scan */
	uint64_t unread_ns;	   /* last time of a process that had gone before it was read */
	unsigned restarts;	   /* of attaching, since threads were started meanwhile */
	bool online[STAT_CPUS];	   /* CPUs that have groups */
	bool children;		   /* the process has or had some, which rows lack */
	unsigned running;	   /* child processes at the start, which totals lack */
	uint64_t child_faults;	   /* of those that it had waited for at the start */
	bool unsettled;		   /* threads were started during each attempt */
	int error;		   /* first failure of a scan */
	int refused; /* -errno: events of another user's threads, which have waits alone */

	/* the run */
	struct tool_child child;
	pid_t child_pid; /* after its end too */
	struct rusage usage;
	bool ended;	   /* the summary comes: usage is known */
	uint64_t lacks_ns; /* much of the CPU time of the command, without its events; or 0 */
	uint64_t begin_ns, before_ns, now_ns;

	/* the output */
	struct table_column *columns; /* all of them, in the order of CSV */
	unsigned n_columns;
	const struct table_column *data, *shown; /* those of data, and of tables */
	unsigned n_data, n_shown;
	unsigned label;		    /* index of the column with the labels of sums; 0: none */
	struct pmc_arena arenas[2]; /* of the last table and of the one above it */
	struct table tables[2];
	unsigned turn;	    /* of these two, the last */
	const char *hidden; /* heads of its columns that do not fit; NULL: no table yet */
	unsigned lines;	    /* since the last head of the table */
	bool headed;
};

void stat_close(struct stat_job *stat);
/* Runs intervals until the target ends, the count is reached, or a signal comes. 0, or the exit
 * code with the error printed. */
int stat_run(struct stat_job *stat);

/* ---- rows.c ---- */
/* The row of a key, added if it is new. */
struct stat_row *stat_row(struct stat_job *stat, const struct stat_key *key);
/* Whether its thread has ended, and its last counts are known. */
bool stat_row_is_over(const struct stat_job *stat, const struct stat_row *row);
void stat_drop_rows(struct stat_job *stat);
/* Reads its groups, for the last time if it is not seen any more. */
void stat_read_row(const struct stat_job *stat, struct stat_row *row);
/* Sums of the groups: since the last step, or since the start. */
void stat_sum(struct stat_job *stat, bool cumulative);
/* The next interval begins. */
void stat_step(struct stat_job *stat);
/* After the command's end: CPU time that its events were not enabled in, if it is much. */
uint64_t stat_lacks_ns(const struct stat_job *stat);
/* The event that counts CPU time; -1: none. */
int stat_clock(const struct stat_job *stat);
/* CPU time of the processes, that of one that has ended as it was last read. */
uint64_t stat_processes_ns(struct stat_job *stat);
/* CPU time that no row has: counting starts; the CPU time of the processes before their threads
 * were read. */
void stat_rest_start(struct stat_job *stat);
void stat_rest_read(struct stat_job *stat, uint64_t process_ns);

/* Rows of threads, or of pools of them. */
static inline bool stat_has_waits(const struct stat_job *stat)
{
	return stat->by == BY_THREAD || stat->by == BY_POOL;
}

/* ---- output ---- */

enum stat_column_kind { STAT_KEY, STAT_EVENT, STAT_CPU_USE, STAT_METRIC, STAT_WAIT, STAT_AT };
enum stat_part { STAT_VALUE, STAT_RAW, STAT_ENABLED, STAT_RUNNING, STAT_STATE, STAT_SCOPE };

/* Of one interval, or of the summary. */
struct stat_lines {
	struct stat_job *stat;
	struct stat_row **list;
	const struct stat_row *at; /* the current one */
	unsigned n;
	bool summary, cumulative;
	bool labels;	    /* for people, not for programs */
	bool scaled, lacks; /* marks in the table */
	uint64_t ns;	    /* that the counts are of */
	struct pmc_arena *arena;
};

/* The columns, and those that flags name. 0, or the exit code with the error printed. */
int stat_columns(struct stat_job *stat);
/* Files of threads that no column of --columns needs stay unread: half of the time of a reading. */
void stat_choose_files(struct stat_job *stat);
/* Its partial member is set where the state is PMC_PARTIAL. */
struct table_cell stat_event_cell(const struct stat_lines *lines, unsigned event);
enum pmc_state stat_event_state(const struct stat_lines *lines, unsigned event);
struct table_cell stat_cell(void *arg, const struct table_column *column); /* arg: the lines */
void stat_print(struct stat_job *stat, bool summary);

/* ---- prometheus.c: these return 0, or the exit code with the error printed ---- */
/* Whether the file can be written. */
int stat_prometheus_open(struct stat_job *stat);
/* All since the start, in the place of the last file. */
int stat_prometheus_write(struct stat_job *stat);
/* Of a command that has ended the file stays, of others it is removed: what is not counted any more
 * must not look like something that stands still. */
int stat_prometheus_end(struct stat_job *stat);
