/* SPDX-License-Identifier: MIT */
/*
 * trace.h - one run of `pmctl trace`: flags, tracepoints, rings, and with --summary the threads it
 * follows. Private to this folder.
 *
 * points.c finds the tracepoints; cmd_trace.c opens their events, and hands each record to write.c
 * or, with --summary, to summary.c.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/histogram.h"
#include "lib/base/out.h"
#include "tools/cli/rows.h"
#include "tools/live/cause.h"
#include "tools/live/waking.h"
#include "tools/rings/rings.h"
#include "tools/unwind/unwind.h"

#include <pmc/sampler.h>
#include <pmc/tracepoint.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In rows.format; CSV, Markdown and Prometheus only of --summary. */
enum trace_format {
	TRACE_TEXT = TABLE_PLAIN,
	TRACE_JSON = TABLE_JSON,
	TRACE_CSV = TABLE_CSV,
	TRACE_MARKDOWN = TABLE_MARKDOWN,
	TRACE_HTML = TABLE_HTML, /* of --summary --by pool,waker */
	TRACE_FIELDS,
	TRACE_RECORD,
	TRACE_PROMETHEUS, /* of --summary */
};

struct pmc_json;

struct trace_point {
	struct pmc_tracepoint *tracepoint;
	char name[160];	    /* "sched:sched_switch" */
	const char *filter; /* in the kernel; NULL: none */
	bool matched;	    /* by a glob */
	bool refused;	    /* by the kernel; left out, as it is only matched */
	bool syscall;	    /* the start or end of a system call */
	/* Of sched:sched_switch; NULL in all others. */
	const struct pmc_tracepoint_field *prev_pid, *prev_comm, *next_pid, *next_comm;
};

/* One -e, and the --filter that follows it. */
struct trace_names {
	const char *names, *filter;
};

struct trace {
	struct pmc_arena arena;

	struct trace_names *lists;
	unsigned n_lists;
	bool all;
	const char *pids, *name; /* of processes; NULL: not given */
	struct live_tids target; /* these processes */
	struct rings rings;
	struct tool_rows rows; /* the output, and what is chosen of --summary */
	bool summarize, stacks;
	bool histogram; /* of the waits, below or in place of the rows */
	enum { TRACE_BY_DEFAULT, TRACE_BY_THREAD, TRACE_BY_POOL, TRACE_BY_WAKER } by;
	enum { TRACE_NO_STACKS, TRACE_BY_DWARF, TRACE_BY_FP } stacks_by; /* of --unwind */

	struct trace_point *points;
	unsigned n_points, n_refused;
	size_t room_points;
	struct trace_print *print; /* NULL: not for text and record */
	struct trace_name *names;  /* of threads, for text */
	uint64_t first_ns;	   /* time of the first record; 0: none yet */
	uint16_t *by_id;	   /* index + 1 in points of a tracepoint's number; 0: none */

	struct unwind unwind;
	struct trace_summary *summary; /* NULL: without --summary */
};

/* ---- threads of --summary ------------------------------------------------------------------- */

enum trace_thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_BLOCKED,
	THREAD_GONE, /* has ended, or it is not known where it is */
};

/* Waits of a thread for one cause that one other thread ended. */
struct trace_wait {
	struct {
		const void *thread;
		const struct trace_thread *waker;
		uint64_t cause; /* enum live_cause */
	} key;
	uint64_t ns;
	uint64_t waker_ns[3]; /* of that, the waker: on a CPU, waiting for one, blocked */
	struct pmc_histogram lengths;
	/* With --stacks, by where the waker ended them: its stack; of pools the text of it. */
	struct unwind_wait *places;
	struct trace_wait *next; /* of the thread */
	UT_hash_handle hh;
};

/* Times of a thread until then. */
struct trace_past {
	uint64_t ns, of[3]; /* on a CPU, waiting for one, blocked */
};

#define TRACE_NAME_BYTES 20

struct trace_thread {
	uint32_t pid, tid; /* pid 0: unknown */
	uint32_t threads;  /* of a pool; 0: a thread */
	char name[TRACE_NAME_BYTES];
	enum trace_thread_state state;
	bool wanted;	   /* of the target */
	bool still;	   /* in one state throughout, without a record; set at the end */
	uint64_t cpu_ns;   /* at the start, of one that was not asleep; UINT64_MAX: unknown */
	uint64_t since_ns; /* the state's start */
	uint64_t oncpu_ns, delay_ns, blocked_ns;
	struct pmc_histogram delays, blocks; /* waits that they are sums of; blocks: at the end */
	uint64_t preempted, waited;	     /* switches from it */
	uint64_t unseen;		     /* switches to or from it without a record */
	const char *reason;		     /* while blocked; or at the start, NULL: not asleep */
	enum live_cause cause;		     /* of the same wait */
	const struct unwind_stack *stack;    /* of the last wait; NULL: not known */
	/* Its waits by reason, and with --stacks by stack; by the thread that ended them. */
	struct unwind_wait *blocked, *stacks;
	struct trace_wait *waits;
	const struct trace_thread *waker; /* has begun to wake it; NULL: nobody */
	const struct unwind_stack *waker_stack;
	struct trace_past *past; /* by waker: the older, the fewer */
	size_t n_past, room_past;
	struct trace_thread *pool; /* at the end: threads whose names differ in digits only */
	struct trace_thread *next;
	/* of a pool */
	char pattern[TRACE_NAME_BYTES + 1]; /* of the names of its threads, and whether wanted */
	struct {
		uint64_t ns;
		unsigned n;
	} sum; /* scratch */
	UT_hash_handle hh;
};

#define TRACE_SUMMARY_CPUS 8192	      /* the largest CONFIG_NR_CPUS */
#define TRACE_TIDS	   (4u << 20) /* PID_MAX_LIMIT of include/linux/threads.h */

#define TRACE_SUMMARY_POINTS                                                                       \
	"sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_process_fork,"   \
	"sched:sched_waking,sched:sched_process_exec"
enum { SWITCH, WAKEUP, WAKEUP_NEW, FORK, WAKING, EXEC };

/* sched_switch, and PERF_RECORD_SWITCH_CPU_WIDE in both threads. */
enum trace_switch { SWITCHED, SWITCHED_OUT, SWITCHED_IN };

struct trace_summary {
	struct trace *trace;
	const struct trace_point *points; /* by the enum above */
	const struct pmc_tracepoint_field *prev_state, *woken[2], *parent, *child, *called;
	struct live_waking waking;
	struct trace_thread **by_tid, *last; /* last: the newest row, which links to the others */
	struct trace_thread no_thread[N_NO_THREADS]; /* in the matrix BY_OTHERS also as pools */
	struct trace_reason *reasons;
	struct trace_wait *waits;
	struct place *places;
	uint64_t start_ns;
	uint32_t main_tid; /* of the command; 0: there is none */
	unsigned asleep;   /* at the end: threads of the machine without a row that sleep */
	bool some;	   /* only threads of the target and what they start */
	struct trace_cpu {
		int64_t tid; /* switched to last; 0: the idle thread, or none yet */
		uint64_t time_ns;
		enum trace_switch last;
	} * cpus;
};

static inline bool trace_is_row(const struct trace_thread *t)
{
	return t->wanted && (t->preempted + t->waited || t->state == THREAD_RUNNING || t->still);
}
/* Of the waits of a row: a thread, or the interrupt. */
static inline bool trace_is_waker(const struct trace_summary *summary, const struct trace_thread *t)
{
	return t != &summary->no_thread[BY_UNKNOWN] && t != &summary->no_thread[BY_NOBODY];
}
static inline unsigned trace_percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned)((double)part * 100 / (double)whole + 0.5) : 0;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* Functions that return int return 0, or the exit code after they have printed why. */

/* points.c */
int trace_find_points(struct trace *trace);
void trace_free_points(struct trace *trace);
const struct trace_point *trace_point_of(const struct trace *trace,
					 const struct pmc_record *record);

/* print.c: functions of the kernel, and records in its own words, the print formats. */
/* The kernel's function at the address; start (may be NULL): where it starts. NULL: addresses are
 * hidden (kernel.kptr_restrict). */
const char *trace_function_at(uint64_t address, uint64_t *start);

struct trace_print *trace_print_new(void);
/* Accepts NULL. */
void trace_print_free(struct trace_print *print);
/* A file of tracefs, with two NULs behind it; NULL if it cannot be read. The caller frees it. */
char *trace_read_tracefs(const char *path, size_t *size);
/* Reads the format file of a tracepoint from tracefs. One that fails is not evaluated. */
void trace_print_load(struct trace_print *print, const char *system, const char *name);
/* The same from `size` bytes of a format file. */
void trace_print_parse(struct trace_print *print, const char *system, const char *text,
		       size_t size);
/* The record as text, valid until the next call; it may hold characters that are not for terminals.
 * NULL: the tracepoint's format is not known, calls a function of the kernel, or does not fit the
 * record. */
const char *trace_print_text(struct trace_print *print, const struct pmc_tracepoint *tracepoint,
			     const struct pmc_record *record);

/* Functions of a call stack, the innermost first. */
enum { TRACE_NAMES = 256 };
struct trace_frame_names {
	unsigned n;
	const char *list[TRACE_NAMES]; /* as found in files: escape them */
};

/* stacks.c */
/* Of the stack of a record. */
void trace_stack_of(struct trace *trace, const struct pmc_record *record,
		    struct trace_frame_names *names);
/* As the items of an array. */
void trace_stack_json(struct pmc_json *json, const struct trace_frame_names *names);
/* Of the thread's waits: in the table a line with the stack of most time; in JSON all. */
void trace_stacks_line(struct trace *trace, struct trace_thread *thread, int width);
/* The innermost functions, "futex_wake < unlock < work"; the same text has the same address. */
const char *trace_stack_text(struct trace *trace, const struct trace_thread *thread,
			     const struct unwind_stack *stack);
void trace_stacks_json(struct trace *trace, struct trace_thread *thread, struct pmc_json *json);

/* summary.c */
/* After the rings are open, before tracing starts. */
int trace_summary_start(struct trace *trace);
void trace_summary_take(struct trace *trace, const struct pmc_record *record);
/* A PERF_RECORD_SWITCH_CPU_WIDE. */
void trace_summary_switch(struct trace *trace, const struct pmc_record *record);
struct trace_thread *trace_thread_add(struct trace_summary *summary, int64_t tid, bool wanted);
/* Ends the state the thread is in: its time until `now` is known. */
void trace_thread_settle(struct trace_summary *summary, struct trace_thread *thread, uint64_t now);
/* Sets the reason, as "futex", "fsync (D)" or "sleep", one pointer for each text, and the cause of
 * a thread that waits: by its state of proc_pid_stat(5), and its stack as in /proc; "": not known.
 */
void trace_reason_in(struct trace_summary *summary, struct trace_thread *thread, char state,
		     char *stack);

/* summary_waker.c: --by pool,waker, and the waits by waker that it is made of. */
/* A wait of the thread, until now, which its waker ends. */
void trace_wait_end(struct trace_summary *summary, struct trace_thread *thread, uint64_t now);
/* Adds waits of a thread of the pool to those of the pool. */
void trace_waits_fold(struct trace_summary *summary, struct trace_thread *pool,
		      const struct trace_thread *thread);
/* Keeps its times until now. */
void trace_past_add(struct trace_summary *summary, struct trace_thread *thread);
/* Waits of the pools as rows, in text with a matrix above. */
int trace_waker_rows(struct trace *trace, struct trace_thread *const *pools, size_t n);
const struct table_column *trace_waker_columns(const struct trace *trace, unsigned *n);

/* summary_proc.c */
/* The threads of processes and their descendants; without a process those of the machine. 0 or
 * -errno. */
int trace_summary_add_targets(struct trace_summary *summary, const struct live_tids *processes);
/* Threads without a record: those that have run or waited for a CPU throughout become rows, and of
 * the target those that sleep, which of the machine are a number. */
void trace_summary_find_still(struct trace *trace);

/* summary_write.c */
enum { TRACE_COLUMNS = 17 };
extern const struct table_column trace_columns[TRACE_COLUMNS];
#define TRACE_TIME(title, shown, at, ...)                                                          \
	TABLE_COLUMN(title, at, .head = shown, .unit = TABLE_NS, __VA_ARGS__)
/* Most time first. */
void trace_waits_sort(struct unwind_wait **list);
/* A time of the thread, which switches without a record make doubtful. */
struct table_cell trace_time(const struct trace_thread *thread, uint64_t ns);
/* Of p50, p99 and the longest. */
struct table_cell trace_percentile(const struct pmc_histogram *of, unsigned percent);
/* Whether there are the columns that flags name. */
int trace_summary_check(struct trace *trace);
int trace_summary_end(struct trace *trace);
/* Below a table: what it does not show, and switches that were not recorded. */
void trace_put_notes(struct trace *trace, const struct table *table, uint64_t unseen);

/* summary_histogram.c: of the waits of these rows; in CSV every bucket with a wait. */
void trace_histogram_print(struct trace *trace, struct trace_thread *const *list,
			   const uint64_t *order, uint64_t n);
/* As the text format 0.0.4 of Prometheus has histograms, in seconds. */
void trace_histogram_prometheus(struct trace *trace, struct trace_thread *const *list,
				const uint64_t *order, uint64_t n);

/* write.c */
/* A record that tells the name of a thread. */
void trace_name_take(struct trace *trace, const struct pmc_record *record);
void trace_write(struct trace *trace, const struct pmc_record *record);
void trace_write_loss(struct trace *trace, const struct ring *ring, uint64_t lost);
uint64_t trace_lost(const struct trace *trace); /* records */
/* Prints the numbers of records printed and lost to stderr. */
void trace_write_totals(const struct trace *trace);
